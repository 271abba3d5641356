"""What TensorFlow or Keras says when it fails, cut down to what a user can use: one line."""
import re

_LONGEST = 300


def reason(error):
    """The first sentence of an error, without the stack that TensorFlow puts in front of its own."""
    text = str(getattr(error, "message", None) or error)
    if "\nNode: " in text:                             # 2.x: where the operation was built, then the message
        text = text.rsplit("\nNode: ", 1)[1].partition("\n")[2]
    text = " ".join(re.split(r"\s\[\[(?:\{\{)?node ", text)[0].split()).split(". ")[0].rstrip(".")
    return text if len(text) <= _LONGEST else text[:_LONGEST - 3] + "..."
