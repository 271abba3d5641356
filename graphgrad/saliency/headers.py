"""How many pixels an image file claims to hold, before anything decodes it."""
import struct


def declared_pixels(data):
    """Width times height, times the frames of a GIF, that the bytes of a file claim; None where it is no whole image.

    Knows PNG, JPEG, GIF and BMP by how they begin, as TensorFlow's decoder does.
    """
    for begin, read in ((b"\x89PNG\r\n\x1a\n", _png), (b"\xff\xd8\xff", _jpeg), (b"GIF8", _gif), (b"BM", _bmp)):
        if data.startswith(begin):
            try:
                return read(data)
            except (struct.error, IndexError):
                return None
    return None


def _png(data):
    width, height = struct.unpack_from(">II", data, 16)
    return width * height


def _bmp(data):
    width, height = struct.unpack_from("<ii", data, 18)
    return abs(width) * abs(height)


def _jpeg(data):
    place, most = 2, None
    while place < len(data):
        if data[place] != 0xFF:
            place += 1   # entropy-coded data, or bytes that decoders skip
            continue
        marker = data[place + 1]
        if marker in (0x00, 0x01, 0xFF) or 0xD0 <= marker <= 0xD8:
            place += 1 if marker == 0xFF else 2
            continue
        if marker == 0xD9:
            break
        length, = struct.unpack_from(">H", data, place + 2)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):   # a frame's header
            height, width = struct.unpack_from(">HH", data, place + 5)
            most = max(most or 0, width * height)
        if marker == 0xDA and most is not None:
            break   # the decoder has its size by now
        place += 2 + length
    return most


def _gif(data):
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    place = 13 + _colours(flags)
    frames = 0
    while data[place:place + 1] in (b"\x21", b"\x2c"):
        if data[place] == 0x21:                      # an extension: label, then blocks
            place = _after_blocks(data, place + 2)
        else:                                        # a frame, which may be larger than the screen
            frames += 1
            if place + 10 > len(data):
                break
            frame_width, frame_height, flags = struct.unpack_from("<HHB", data, place + 5)
            width, height = max(width, frame_width), max(height, frame_height)
            place = _after_blocks(data, place + 10 + _colours(flags) + 1)
    return width * height * max(frames, 1)


def _colours(flags):
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data, place):
    while place < len(data) and data[place]:
        place += 1 + data[place]
    return place + 1
