"""The flag --learning_rate of run_finetuning: one rate, or several to compare."""

from typing import Any

from absl import flags

from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.runtime import flag_help

# The flag is one of the command that calls.
flags.disclaim_key_flags()


class _RateParser(flags.ArgumentParser):
    """A number, or several with commas between, which stay text."""

    syntactic_help = "a number, or several with commas between"

    def parse(self, argument: str | float) -> float | str:
        """The number; the text of several."""
        try:
            return float(argument)
        except ValueError:
            for part in argument.split(","):
                float(part)
            return argument

    def flag_type(self) -> str:
        """The type as --help has it."""
        return "float"


def define_rates(flag_values: flags.FlagValues) -> None:
    """Declares the flag."""
    flag_help.begin_group("Learning rate", flag_values)
    text = "Learning rate at the end of the warm-up, or several to compare, with runs for each: 1e-5,2e-5."
    default = FinetuningSettings.learning_rate
    flags.DEFINE(_RateParser(), "learning_rate", default, text, flag_values, flags.ArgumentSerializer())


def rates_of(given: flags.FlagValues) -> dict[str, Any]:
    """The fields of FinetuningSettings that the flag fills."""
    value = given.learning_rate
    return {"learning_rates" if isinstance(value, str) else "learning_rate": value}
