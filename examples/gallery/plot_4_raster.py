"""
A class map of a scene
======================

Pixels are rows, and bands are features. Here a scene of three bands in memory; ``dormie.scale.raster.predict`` does
the same from file to file for scenes of any size.
"""

# %%
# Hills, a lake, and light that changes across the scene.
import matplotlib.pyplot as plt
import numpy as np
import xarray
from scipy.ndimage import gaussian_filter
from sklearn.svm import SVC

import dormie
from dormie.scale import raster

rng = np.random.default_rng(0)
height = gaussian_filter(rng.normal(size=(240, 320)), 18)
truth = np.digitize(height / height.std(), [-0.8, 0.4])  # lake, meadow, wood
colours = np.array([[20.0, 45.0, 90.0], [110.0, 150.0, 60.0], [35.0, 75.0, 35.0]])
bands = colours[truth].transpose(2, 0, 1) * np.linspace(0.8, 1.2, 320) + rng.normal(0, 14, (3, 240, 320))
scene = xarray.DataArray(bands.clip(0, 255).astype(np.uint8), dims=("band", "y", "x"))

# %%
# Train on a few hundred pixels, and answer them all.
pixels, labels = scene.values.reshape(3, -1).T, np.array(["lake", "meadow", "wood"])[truth.ravel()]
chosen = rng.choice(len(pixels), 800, replace=False)
fast = dormie.compile(SVC().fit(pixels[chosen].astype(float), labels[chosen]), effort="quick")
classes = raster.predict_array(fast, scene)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.imshow(scene.transpose("y", "x", "band"))
right.imshow(classes, cmap="Set2")
for axes, title in ((left, "the scene"), (right, classes.attrs["flag_meanings"])):
    axes.set_title(title)
    axes.set_axis_off()
