"""Installs graphgrad; tool settings live in pyproject.toml."""
import os

from setuptools import find_packages, setup

HERE = os.path.dirname(os.path.abspath(__file__))

with open(os.path.join(HERE, "README.md"), encoding="utf-8") as readme:
    LONG_DESCRIPTION = readme.read()

setup(
    name="graphgrad",
    version="0.1.0",
    description="Override gradients in TensorFlow graphs, and prove that the override took.",
    long_description=LONG_DESCRIPTION,
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=find_packages(include=["graphgrad", "graphgrad.*"]),
    package_data={"graphgrad": ["py.typed", "__init__.pyi", "legacy/child/sitecustomize.py"]},
    python_requires=">=3.7",
    install_requires=["tensorflow>=1.15", "numpy"],
    extras_require={
        # setuptools and wheel: a test builds the wheel without a network.
        "test": ["pytest>=7", "hypothesis>=6", "setuptools", "wheel"],
        # TF 2.16 and later ship Keras 3, which has no tf.layers: tf_keras and tf_slim carry the old ones.
        "legacy": ["tf_keras; python_version>='3.9'", "tf_slim"],
    },
    entry_points={
        "console_scripts": ["graphgrad=graphgrad.cli:main"],
        # Named as its module, so that pytest's -p graphgrad.golden.plugin is the same plugin.
        "pytest11": ["graphgrad.golden.plugin=graphgrad.golden.plugin"],
    },
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.7",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Typing :: Typed",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
