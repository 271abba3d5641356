"""scipy.misc's picture functions on a fixed picture: python pictures.py OUTPUT.npz FOLDER."""
import os
import sys
import warnings

import numpy as np
import scipy.misc
from scipy.misc import imread, imresize, imsave

warnings.simplefilter("ignore")
out, folder = {}, sys.argv[2]
grey = np.arange(42.0).reshape(6, 7) * 3.1 - 20.0
colour = (np.arange(126).reshape(6, 7, 3) * 37 % 256).astype(np.uint8)
for name, picture in (("grey", grey), ("colour", colour), ("first", np.moveaxis(colour, 2, 0)), ("float", colour / 9.0)):
    if name != "first":
        path = os.path.join(folder, name + ".png")
        imsave(path, picture)
        out[name] = imread(path)
        out[name + "/flat"] = imread(path, True)
        out[name + "/L"] = imread(path, mode="L")
    for size in (50, 1.5, (4, 5)):
        out["%s/%s" % (name, size)] = imresize(picture, size)
    for kind in ("nearest", "bicubic", "lanczos"):
        out["%s/%s" % (name, kind)] = imresize(picture, (9, 12), interp=kind)
    out[name + "/rotated"] = scipy.misc.imrotate(picture, 30)
out["resized as F"] = imresize(grey, (3, 3), mode="F")
out["bytescale"] = scipy.misc.bytescale(grey, 0, 50)
for mode in ("I", "P"):
    out["mode " + mode] = np.array(scipy.misc.toimage(grey, high=60, mode=mode).convert("L"))
out["YCbCr"] = np.array(scipy.misc.toimage(colour, mode="YCbCr").convert("RGB"))
np.savez(sys.argv[1], **out)
