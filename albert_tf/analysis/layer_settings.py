"""Settings of analyse_layers: known before anything heavy is imported."""

import dataclasses
from typing import Annotated

from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.run_names import name_runs
from albert_tf.runtime.settings import Count, StrPath, check, described


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class LayerSettings:
    """Settings of a look into the layers of models; their names are those of the flags of analyse_layers."""

    init_checkpoint: Annotated[
        tuple[str, ...], "The models: runs, checkpoints of any format, hf:// or official:// names, comma-separated."
    ]
    names: Annotated[tuple[str, ...], "What to call each in figure and table; left out: by its folder."] = ()
    input_file: Annotated[StrPath, "Texts, one a line, or records: comma-separated paths and globs."]
    num_examples: Annotated[Count, "Most texts or records to read."] = 256
    max_seq_length: Annotated[Count, "Where texts are cut; records have a length of their own."] = 128
    applications: Annotated[Count | None, "How often to apply the shared layer; left out: as the model does."] = None
    albert_config_file: Annotated[StrPath | None, "JSON file of the models' shape; left out: each model's own."] = None
    spm_model_file: Annotated[StrPath | None, "The models' vocabulary; left out: the one beside each."] = None

    def __post_init__(self) -> None:
        check(self)
        if not self.init_checkpoint or not all(self.init_checkpoint):
            raise FlagError(f"--init_checkpoint must name models. Received {','.join(self.init_checkpoint)!r}.")
        if not all(self.names):
            raise FlagError("--names: one of them is empty")
        if self.names and len(self.names) != len(self.init_checkpoint):
            raise FlagError(
                f"--names must be as many as --init_checkpoint: {len(self.init_checkpoint)}. "
                f"Received {len(self.names)}: {', '.join(self.names)}."
            )

    @property
    def titles(self) -> list[str]:
        """A name for each model, no two alike."""
        names = list(self.names or name_runs(list(self.init_checkpoint)))
        return names if len(set(names)) == len(names) else [f"{name} ({at + 1})" for at, name in enumerate(names)]
