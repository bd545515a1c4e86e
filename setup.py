"""Packaging of albert_tf: two packages, the shipped configs, their console scripts and the optional extras."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent

# Commands are modules `verb_noun` with a `main`; the script's name is the module's.
COMMANDS = {
    "data_prep": [
        "collect_docstrings",
        "count_embeddings",
        "create_pretraining_data",
        "inspect_records",
        "split_sentences",
        "train_vocabulary",
    ],
    "albert_tf": [
        "analyse_layers",
        "collect_glue_submission",
        "convert_checkpoint",
        "distil_vectors",
        "embed_texts",
        "export_checkpoints",
        "export_model",
        "export_saved_model",
        "export_to_tfhub",
        "fill_mask",
        "plan_training",
        "plot_training",
        "predict",
        "push_to_hub",
        "run_classifier",
        "run_evaluation",
        "run_experiments",
        "run_finetuning",
        "run_pretraining",
        "run_race",
        "run_squad_v1",
        "run_squad_v2",
        "search_texts",
        "serve",
        "train_embeddings",
        "write_report",
    ],
}

CONFIGS = ("models", "pretraining", "finetuning", "experiments")

setup(
    name="albert_tf",
    version=re.search(r'__version__ = "(.*)"', (HERE / "albert_tf/__init__.py").read_text(encoding="utf-8"))[1],
    description="ALBERT for TensorFlow and Keras 3: from raw text to a trained, exported encoder",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    # Those that TensorFlow 2.21 has wheels for.
    python_requires=">=3.10,<3.14",
    packages=[
        *find_packages(include=["albert_tf", "albert_tf.*", "data_prep", "data_prep.*"]),
        *(f"albert_tf.configs.{kind}" for kind in CONFIGS),
    ],
    # A checkout has them at its top (albert_tf/runtime/shipped_files.py finds them in either place).
    package_dir={f"albert_tf.configs.{kind}": f"configs/{kind}" for kind in CONFIGS},
    package_data={
        "": ["*.json", "*.flags", "py.typed"],
        "albert_tf.server": ["page/*"],
        "albert_tf.reports": ["templates/*"],
    },
    install_requires=[
        "absl-py>=2.1",
        "google-crc32c>=1.6,<2",
        "h5py>=3.11,<4",
        "keras>=3.15,<4",
        "ml-dtypes>=0.5,<1",
        "numpy>=1.26",
        "protobuf>=6.31,<8",
        "safetensors>=0.5,<1",
        "sentencepiece>=0.2.3,<0.3",
        "sentencex>=1.0.30,<2",
        "tensorboard>=2.20,<3",
        "tensorflow>=2.21,<2.22",
        "tensorflow-text>=2.21.1,<2.22",
        "tqdm>=4.66",
    ],
    extras_require={
        "dask": ["distributed>=2025.1"],
        "dev": [
            "distributed>=2025.1",
            "scikit-learn>=1.5,<2",
            "scipy>=1.13,<2",
            "build>=1.2,<2",
            "kubernetes-validate>=1.31",
            "setuptools>=77",
            "twine>=6,<7",
            "pytest>=8,<10",
            "pytest-xdist>=3.6,<4",
            "ruff>=0.17,<0.18",
            "mypy>=2.4,<2.5",
            "matplotlib>=3.8,<4",
            "huggingface-hub>=0.34,<3",
            "jinja2>=3.1,<4",
            "pyarrow>=18,<26",
            "zstandard>=0.23,<1",
            "orjson>=3.10,<4",
            "prometheus-client>=0.21,<1",
            "starlette>=0.46,<2",
            "uvicorn>=0.34,<1",
            # Reads the tokenizer.json that the tests write.
            "tokenizers>=0.22,<0.24",
        ],
        # The site of the documents: tried with Sphinx 8.1, 9.0 and 9.2, MyST 4 and 5. Python 3.10 has the older ones.
        "docs": ["furo>=2025.12,<2027", "myst-parser>=4,<6", "sphinx>=8.1,<10", "sphinxcontrib-mermaid>=2.1,<3"],
        # A search by words, to compare vectors with.
        "bm25": ["bm25s>=0.2.14,<0.4"],
        "embeddings": ["scipy>=1.13,<2"],
        # On a processor; jax.dev says what to install for a GPU or a TPU.
        "jax": ["jax>=0.6.1,<1"],
        # JAX for a TPU, and the TPU's compiler, which runs without one. From 0.7 it tells how much is in use at a time.
        "tpu": ["jax[tpu]>=0.7,<1"],
        # The compiler for GPUs, which runs without one; the TPU's counts operations where it tells none.
        "cuda-compiler": ["jax[tpu]>=0.8,<1", "jax-cuda13-plugin>=0.8,<1"],
        # Published weights by name: tried with 0.36, 1.33 and 2.4. transformers 4 needs one below 1.
        "hub": ["huggingface-hub>=0.34,<3"],
        # Exports that run without TensorFlow, and what they are checked with.
        "litert": ["ai-edge-litert>=2.3,<3"],
        "onnx": ["onnx>=1.19,<2", "onnxruntime>=1.22,<2"],
        # Runs ONNX exports where it is there.
        "openvino": ["openvino>=2025.3,<2027"],
        "parquet": ["pyarrow>=18,<26"],
        # A server: starlette 0 and 1; Python 3.10 has 0.
        "serve": [
            "orjson>=3.10,<4",
            "prometheus-client>=0.21,<1",
            "starlette>=0.46,<2",
            "uvicorn>=0.34,<1",
        ],
        # Trains WordPiece vocabularies, and reads the tokenizer.json that is written.
        "wordpiece": ["tokenizers>=0.22,<0.24"],
        "zstd": ["zstandard>=0.23,<1"],
        # The scores of the tasks.
        "finetuning": ["scikit-learn>=1.5,<2", "scipy>=1.13,<2"],
        "plot": ["matplotlib>=3.8,<4"],
        # The page of a run.
        "report": ["jinja2>=3.1,<4"],
        # The last versions whose ALBERT tokenizer runs sentencepiece.
        "parity": [
            "ai-edge-litert>=2.3,<3",
            "jax>=0.6.1,<1",
            "keras-hub>=0.32,<0.33",
            "onnx>=1.19,<2",
            "onnxruntime>=1.22,<2",
            # torch exports to ONNX with it.
            "onnxscript>=0.5,<0.8",
            "openvino>=2025.3,<2027",
            "sentence-transformers>=5,<7",
            "torch==2.13.0",
            "transformers>=4.57,<5",
        ],
    },
    entry_points={
        "console_scripts": [
            f"{command} = {package}.{command}:main" for package, names in COMMANDS.items() for command in names
        ]
    },
)
