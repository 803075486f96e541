"""Renders conversations by the chat template of a tokeniser, as transformers' apply_chat_template does.

Standard input is a socket. src/data/chat_template.h says what is asked over it and answered, a JSON object a line. A
template is a stranger's program: it sees plain data in a sandbox, its memory is limited, and whoever asked limits its
time.
"""

import datetime
import json
import os
import resource
import signal
import socket

MEMORY_BYTES = 2 << 30
LONGEST_SECONDS = 30  # of an answer: whoever asked has a shorter limit, but may be gone


class Refused(Exception):
    """What somebody is to be told."""


def make_environment(jinja2):
    """That of transformers; `generated` gets the ranges of the text that {% generation %} stands around."""
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """{% generation %} text of the assistant {% endgeneration %}"""

        tags = {"generation"}

        def __init__(self, environment):
            super().__init__(environment)
            environment.extend(rendered_length=0, generated=[])

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("note"), [], [], body).set_lineno(line)

        def note(self, caller):
            text = caller()
            begin = self.environment.rendered_length
            self.environment.generated.append((begin, begin + len(text)))
            return text

    class Namespace(jinja2.utils.Namespace):
        """Without the names by which Python's own insides are reached."""

        def __setitem__(self, name, value):
            if isinstance(name, str) and name.startswith("_"):
                raise jinja2.exceptions.SecurityError(f"the name {name!r} of a namespace begins with _")
            super().__setitem__(name, value)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    environment.globals["namespace"] = Namespace
    return environment


class Template:
    def __init__(self, text, variables):
        import jinja2

        self.environment = make_environment(jinja2)
        self.template = self.environment.from_string(text)
        self.variables = {"tools": None, "documents": None, **variables}

    def render(self, messages, add_generation_prompt=False):
        """The text, and the ranges of it that the template itself says are the assistant's."""
        environment, blocks = self.environment, []
        environment.rendered_length, environment.generated = 0, []
        for block in self.template.generate(
            messages=messages, add_generation_prompt=add_generation_prompt, **self.variables
        ):
            blocks.append(block)
            environment.rendered_length += len(block)
        return "".join(blocks), environment.generated

    def text_before(self, messages, add_generation_prompt):
        """Of a conversation's first turns; of none there is none, which many templates do not expect."""
        return self.render(messages, add_generation_prompt)[0] if messages else ""

    def answers(self, messages, text):
        """Where the text of each turn of the assistant is, with what ends it."""
        for i, message in enumerate(messages):
            if message["role"] == "assistant":
                before = self.text_before(messages[:i], False)
                prompt = self.text_before(messages[:i], True)
                through = self.render(messages[: i + 1])[0].rstrip()
                if not text.startswith(before) or not text.startswith(through):
                    raise Refused(
                        f"it writes turn {i + 1} otherwise once others follow, so that nothing says which text is the "
                        "assistant's: put {% generation %} and {% endgeneration %} around that in the template"
                    )
                begin = max(len(before), len(os.path.commonprefix([prompt, text])))
                if begin < len(through):
                    yield begin, len(through)

    def reply(self, messages):
        text, ranges = self.render(messages)
        ranges = ranges or list(self.answers(messages, text))
        in_bytes = [[len(text[:at].encode()) for at in range_] for range_ in ranges]
        return {"text": text, "answers": in_bytes}


def one_line(error):
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, Refused) or not getattr(error, "lineno", None) else f"line {error.lineno}: {text}"


def answer(request, template):
    """The reply to one request; a template, or its error, is kept for the requests that follow."""
    try:
        if "template" in request:
            template.append(Template(request["template"], request["variables"]))
            return {"ready": True}
        if request.get("add_generation_prompt"):
            return {"text": template[-1].render(request["messages"], True)[0]}
        return template[-1].reply(request["messages"])
    except ImportError as error:
        return {"lacks": one_line(error)}
    except RecursionError:
        return {"error": "it calls itself without end"}
    except Exception as error:  # whatever a template may do
        return {"error": one_line(error)}


def main():
    channel = socket.socket(fileno=os.dup(0))
    os.dup2(2, 1)  # what libraries print goes to standard error
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    template = []
    for line in channel.makefile("r", encoding="utf-8"):
        signal.alarm(LONGEST_SECONDS)
        channel.sendall(json.dumps(answer(json.loads(line), template)).encode() + b"\n")
        signal.alarm(0)


if __name__ == "__main__":
    main()
