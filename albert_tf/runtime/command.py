"""The start and the end of every command: flags first, one line for a mistake of the user's, exit codes."""

import logging as python_logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from absl import app, flags, logging

from albert_tf.runtime import flag_help, shipped_files
from albert_tf.runtime.errors import FlagError, InputError, InUseError, RunStopped, reason_of
from albert_tf.runtime.official_flags import advise

EXIT_BAD_INPUT = 1
EXIT_WRONG_FLAGS = 2
# EX_UNAVAILABLE and EX_TEMPFAIL of sysexits.h: start again, and the run goes on.
EXIT_WORKER_LOST = 69
EXIT_STOPPED = 75
EXIT_INTERRUPTED = 130
# What a shell says of a program that SIGPIPE ended.
EXIT_NO_READER = 141

_LINE_ENDS = str.maketrans({"\n": "\\n", "\r": "\\r", "\x1b": "\\x1b"})

_FLAGFILE = ("--flagfile", "-flagfile")

# Errors of TensorFlow that tell of files and records, not of faults in a graph, in a user's words.
_FILE_ERRORS = {
    "NotFoundError": "not found",
    "PermissionDeniedError": "permission denied",
    "FailedPreconditionError": "not usable as a file here",
    "DataLossError": "the file is damaged",
    "ResourceExhaustedError": "no room left",
    "UnimplementedError": "this kind of path cannot be used here",
}


def entry_point(module: str, main: Callable[..., None], **settings) -> Callable[[], None]:
    """The `main` of a command: the entry point of its console script.

    Args:
        module: __name__ of the command, whose `define_flags` declares its flags and whose docstring heads --help.
        main, **settings: of `run`.
    """

    def start() -> None:
        sys.modules[module].define_flags()
        run(main, module=module, **settings)

    return start


def run(
    main: Callable[..., None],
    positional: str | None = None,
    required: Iterable[str | Sequence[str]] = (),
    module: str | None = None,
) -> None:
    """Runs a command whose flags are defined: parses them, then calls `main`, and never returns.

    Args:
        main: takes no arguments, or, with `positional`, the list of the command line's other words.
        positional: what the words that are no flags mean, for example "text". None: such words are an error.
        required: flags that must be given; several in one entry: one of them.
        module: see entry_point; None: that of `main`.

    Exit codes: 0 done, also after --help; 1 the input was at fault (one line on stderr); 2 wrong flags; 69 another
    worker was lost; 75 stopped by a signal, with all saved; 130 interrupted; 141 nobody reads the output any more.
    """

    def start(arguments: list[str]) -> None:
        logging.get_absl_handler().setFormatter(_LineFormatter())
        InputError.in_command = True
        # A file's name need not be UTF-8, and a terminal need not know every character.
        sys.stdout.reconfigure(errors="backslashreplace")
        words = arguments[1:]
        if words and positional is None:
            _fail(f"unexpected argument {words[0]!r}; every option is a flag, --name=value", EXIT_WRONG_FLAGS)
        require_flags(*required)
        try:
            main(words) if positional is not None else main()
            sys.stdout.flush()
        except FlagError as error:
            _fail(str(error), EXIT_WRONG_FLAGS)
        except InputError as error:
            _fail(str(error), EXIT_STOPPED if isinstance(error, InUseError) else EXIT_BAD_INPUT)
        except RunStopped as error:
            _fail(str(error), error.exit_code)
        except BrokenPipeError:
            _end_without_reader()
        except OSError as error:
            _fail(_describe_os_error(error), EXIT_BAD_INPUT)
        except KeyboardInterrupt:
            _fail("interrupted", EXIT_INTERRUPTED)
        except Exception as error:
            message = _describe_tensorflow_error(error)
            if message is None:
                raise
            _fail(message, EXIT_BAD_INPUT)

    def show_help() -> None:
        command = sys.modules[module or main.__module__]
        own = flags.FlagValues()
        command.define_flags(own)
        _print_help(flag_help.help_text(_command_name(), command.__doc__ or "", own, required, positional))

    app.run(start, flags_parser=lambda arguments: _parse_flags(arguments, show_help))


def require_flags(*names: str | Sequence[str]) -> None:
    """Exits with code 2 if one of these flags was left out; of several in one entry, if all were."""
    missing = []
    for entry in names:
        alternatives = [entry] if isinstance(entry, str) else entry
        if all(flags.FLAGS[name].value in (None, "", []) for name in alternatives):
            missing.append(" or ".join(f"--{name}" for name in alternatives))
    if missing:
        _fail(f"{', '.join(missing)} must be given; --help tells more", EXIT_WRONG_FLAGS)


class _HelpFlag(flags.BooleanFlag):
    """A flag that prints the command's help and ends it; absl's own ends with exit code 1 and knows no groups."""

    def __init__(self, name: str, short_name: str, show_help: Callable[[], None]):
        super().__init__(name, False, "Show this help.", short_name=short_name, allow_override=True)
        self._show_help = show_help

    def parse(self, argument) -> None:
        if self._parse(argument):
            self._show_help()
            sys.exit(0)


def _print_help(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _end_without_reader()


def _end_without_reader() -> None:
    """Ends as other programs do whose output goes to `head`; what is still buffered has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(EXIT_NO_READER)


class _LineFormatter(python_logging.Formatter):
    """The time of day and the message; a warning says that it is one."""

    def format(self, record: python_logging.LogRecord) -> str:
        kind = f"{record.levelname.lower()}: " if record.levelno >= python_logging.WARNING else ""
        return f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {kind}{record.getMessage()}"


def _parse_flags(arguments: list[str], show_help: Callable[[], None]) -> list[str]:
    """Parses the command line; a wrong flag is one line and exit code 2, --help in any form exit code 0."""
    for name, short_name in (("help", "?"), ("helpshort", "h")):
        flags.DEFINE_flag(_HelpFlag(name, short_name, show_help))
    arguments = _with_shipped_flag_files(arguments)
    try:
        return flags.FLAGS(arguments)
    except SystemExit:
        # Only the forms of --help end the parsing; absl's own do it with code 1.
        sys.exit(0)
    except flags.UnrecognizedFlagError as error:
        official = advise(_command_name(), error.flagname)
        _fail(f"there is no flag --{error.flagname}; {official}" if official else _one_line(error), EXIT_WRONG_FLAGS)
    except flags.Error as error:
        _fail(_one_line(error), EXIT_WRONG_FLAGS)


def _with_shipped_flag_files(arguments: list[str]) -> list[str]:
    """The command line with the paths of the shipped flag files that it names."""
    found = []
    for at, word in enumerate(arguments):
        option, equals, path = word.partition("=")
        if option in _FLAGFILE and equals:
            word = f"{option}={_find_flag_file(path)}"
        elif at and arguments[at - 1] in _FLAGFILE:
            word = _find_flag_file(word)
        found.append(word)
    return found


def _find_flag_file(path: str) -> str:
    kinds = shipped_files.PRETRAINING, shipped_files.FINETUNING
    found = shipped_files.find(path, *kinds)
    if not os.path.isfile(found) and not os.path.dirname(path):
        names = ", ".join(name for kind in kinds for name in shipped_files.names(kind))
        _fail(f"--flagfile={path}: no such file; shipped ones are {names}", EXIT_WRONG_FLAGS)
    return found


def _fail(message: str, code: int) -> None:
    logging.flush()
    # One line, also where a path holds a line end.
    sys.stderr.write(f"{_command_name()}: {message.translate(_LINE_ENDS)}\n")
    if code == EXIT_WORKER_LOST:
        # JAX waits at exit for the processes that it joined, a minute for those that are gone, and then aborts.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _one_line(error: Exception) -> str:
    # absl shows a boolean flag's wrong value in an exception of two arguments.
    return re.sub(r"\('Non-boolean .*\)$", "value should be true or false", " ".join(str(error).split()))


def _command_name() -> str:
    return os.path.splitext(os.path.basename(sys.argv[0]))[0]


def _describe_os_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    advice = {
        28: "; free some room or choose another place",
        13: "; choose another place or change its rights",
    }
    return f"{where}{error.strerror or error}{advice.get(error.errno, '')}"


def _describe_tensorflow_error(error: Exception) -> str | None:
    """One line for an error of TensorFlow's file system, None for any other error."""
    kind = type(error).__name__
    if not type(error).__module__.startswith("tensorflow") or kind not in _FILE_ERRORS:
        return None
    return f"{_FILE_ERRORS[kind]}: {reason_of(error)}"
