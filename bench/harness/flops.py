"""How much work a training step needs at least: floating-point operations of its matrix products, and bytes.

Only what the mathematics asks for is counted, whatever a program does: real tokens (no padding), logits of supervised
tokens only, the causal half of attention's scores, no weight gradients of frozen weights, nothing recomputed. A product
of [m, k] and [k, n] is 2 m k n operations. docs/benchmarks.md has the formula in words.
"""

from dataclasses import dataclass

MASKED = -100
LORA_TARGETS = ("q_proj", "v_proj")
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Shape:
    """A decoder of the Llama family."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    groups: int  # key/value heads
    head_dim: int
    vocabulary: int
    tied: bool

    @classmethod
    def from_config(cls, config):
        """Of a Hugging Face config.json."""
        heads = config["num_attention_heads"]
        return cls(
            hidden=config["hidden_size"],
            intermediate=config["intermediate_size"],
            layers=config["num_hidden_layers"],
            heads=heads,
            groups=config.get("num_key_value_heads") or heads,
            head_dim=config.get("head_dim") or config["hidden_size"] // heads,
            vocabulary=config["vocab_size"],
            tied=config.get("tie_word_embeddings", False),
        )

    def linears(self):
        """(inputs, outputs) of the linear layers of one decoder layer, by module name."""
        queries, keys = self.heads * self.head_dim, self.groups * self.head_dim
        return {
            "q_proj": (self.hidden, queries),
            "k_proj": (self.hidden, keys),
            "v_proj": (self.hidden, keys),
            "o_proj": (queries, self.hidden),
            "gate_proj": (self.hidden, self.intermediate),
            "up_proj": (self.hidden, self.intermediate),
            "down_proj": (self.intermediate, self.hidden),
        }

    def parameters(self):
        linear = sum(i * o for i, o in self.linears().values())
        head = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * (linear + 2 * self.hidden) + head + self.hidden


@dataclass(frozen=True)
class Work:
    """Of one step."""

    tokens: int
    supervised: int
    linear: float  # operations of the layers' linear layers
    lora: float  # of the adapters
    attention: float
    head: float
    bytes: float  # weights, their gradients and the optimiser's states, each pass over them once

    @property
    def flops(self):
        return self.linear + self.lora + self.attention + self.head


def supervised_tokens(row):
    """Positions whose next token bears loss."""
    return sum(label != MASKED for label in row["labels"][1:])


def linear_flops(shape, tokens, full):
    """Forward, the input's gradient, and for trained weights their gradient. With LoRA the first layer's q, k and v
    have frozen inputs, so no gradient goes further down."""
    sizes = {name: i * o for name, (i, o) in shape.linears().items()}
    products = (3 if full else 2) * shape.layers * sum(sizes.values())
    if not full:
        products -= sizes["q_proj"] + sizes["k_proj"] + sizes["v_proj"]
    return 2.0 * tokens * products


def lora_flops(shape, tokens, rank):
    """Two thin products forward, and backward the gradients of B, of the rank-wide middle, of A and of the input (the
    last not in the first layer)."""
    sizes = [shape.linears()[name] for name in LORA_TARGETS]
    per_layer = sum(3 * i + 3 * o for i, o in sizes)
    return 2.0 * tokens * rank * (shape.layers * per_layer - sum(i for i, _ in sizes))


def attention_flops(shape, lengths, full):
    """Scores and values forward; backward the gradients of values, weights, queries and keys (with LoRA on q and v, not
    of the first layer's keys)."""
    pairs = sum(n * (n + 1) // 2 for n in lengths)
    products = 6 * shape.layers - (0 if full else 1)
    return 2.0 * pairs * shape.heads * shape.head_dim * products


def head_flops(shape, supervised, full):
    return 2.0 * supervised * shape.hidden * shape.vocabulary * (3 if full else 2)


def step_bytes(shape, dtype, full):
    """Weights are read forward and backward; a full fine-tune writes gradients once, and AdamW reads weights,
    gradients and two states and writes all but the gradients. Activations may stay in caches and are not counted."""
    passes = 2 + (1 + 7 if full else 0)
    return float(passes * shape.parameters() * BYTES[dtype])


def step_work(shape, rows, method, dtype, rank=4):
    """The Work of one step on `rows` ({"input_ids", "labels"})."""
    full = method == "full"
    lengths = [len(row["input_ids"]) for row in rows]
    supervised = sum(supervised_tokens(row) for row in rows)
    return Work(
        tokens=sum(lengths),
        supervised=supervised,
        linear=linear_flops(shape, sum(lengths), full),
        lora=0.0 if full else lora_flops(shape, sum(lengths), rank),
        attention=attention_flops(shape, lengths, full),
        head=head_flops(shape, supervised, full),
        bytes=step_bytes(shape, dtype, full),
    )
