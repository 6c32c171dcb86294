"""Click's own words in the language of the terminal.

Click asks gettext for them, which wants compiled catalogs in a folder of its own. Here they come from the same
``locales/*.yaml`` as all other words: `translate_click` puts two functions in the place of gettext's.
"""

import string

from click import Context, HelpFormatter, core, decorators, exceptions, formatting, parser, types

from attnx.i18n import terminal_catalog

# What Click can say here, by its English; what is not in the list stays English.
KEYS = {
    "Usage:": "click.usage",
    "Options": "click.options",
    "Commands": "click.commands",
    "default: {default}": "click.default_value",
    "env var: {var}": "click.env_var",
    "required": "click.required",
    "Show this message and exit.": "help.help",
    "Show the version and exit.": "help.version",
    "Aborted!": "click.aborted",
    "Error: {message}": "click.error",
    "Try '{command} {option}' for help.": "click.try_help",
    "Invalid value: {message}": "click.invalid",
    "Invalid value for {param_hint}: {message}": "click.invalid_for",
    "Missing argument": "click.missing_argument",
    "Missing option": "click.missing_option",
    "Missing parameter": "click.missing_parameter",
    "Missing command.": "click.missing_command",
    "Choose from:\n\t{choices}": "click.choose_from",
    "No such option {name!r}.": "click.no_option",
    "No such command {name!r}.": "click.no_command",
    "Did you mean {possibility}?": "click.did_you_mean",
    "Got unexpected extra argument ({args})": "click.extra_arguments",
    "{value!r} is not {choice}.": "click.not_a_choice",
    "{value!r} is not a valid {number_type}.": "click.not_a_number",
    "{value} is not in the range {range}.": "click.not_in_range",
    "Option {name!r} does not take a value.": "click.no_value",
    "Option {name!r} requires an argument.": "click.needs_value",
}
# What a user typed: written with escapes, so that nothing in it can steer the terminal.
TYPED = ("name", "value", "args")


class Formatter(HelpFormatter):
    """Click's formatter, with the colon of the language after a heading."""

    def write_heading(self, heading: str) -> None:
        """Write a heading, such as that of the options."""
        self.write(f"{'':>{self.current_indent}}{terminal_catalog().text('click.heading', heading=heading)}\n")


def translate_click() -> None:
    """Let Click say its words in the language that the terminal has at the moment."""
    Context.formatter_class = Formatter
    for module in (core, decorators, exceptions, formatting, parser, types):
        for name, function in (("_", _translated), ("ngettext", _counted)):
            if hasattr(module, name):
                setattr(module, name, function)


def _translated(message: str) -> str:
    return _counted(message, message, 1)


def _counted(singular: str, plural: str, n: int) -> str:
    """Return Click's template in the terminal's language, with its placeholders left for Click to fill in."""
    key = KEYS.get(singular)
    if key is None:
        return singular if n == 1 else plural
    fields = {name for _, name, _, _ in string.Formatter().parse(singular + plural) if name}
    kept = {name: f"{{{name}!r}}" if name in TYPED else f"{{{name}}}" for name in fields}
    return terminal_catalog().text(key, **{**kept, "n": n})
