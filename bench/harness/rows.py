"""The rows of the fine-tuning table: what is trained, on which rows of tokens, and what is asked of the ratio."""

import os
from dataclasses import dataclass, field, replace

#: Both programs keep to AVX2 under these.
AVX2_ONLY = {
    "ASSAY_CPU_ISA": "avx2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}

#: Largest relative differences of losses and of gradient norms from the peer's that were measured over all rows on a CPU
#: (bench/results/tune-2026-11-2*.json: five turns each, equal to the last digit). A float32 loss near 11 has steps of
#: 9e-8; four of them count.
MEASURED_SPREAD = {"bfloat16": (2.1e-4, 3.6e-3), "float32": (4e-7, 1.1e-5)}
#: Times which they may differ.
TOLERANCE_FACTOR = 2.5
#: On a GPU, where no spread has been measured yet.
GPU_TOLERANCE = {"bfloat16": (0.02, 0.05), "float32": (1e-4, 1e-3)}

PEFT = "transformers + peft"
TRANSFORMERS = "transformers"
PEFT_DDP = "transformers + peft, torch DDP"
TRANSFORMERS_DDP = "transformers, torch DDP"
PEFT_FSDP2 = "transformers + peft, torch FSDP2"
TRANSFORMERS_FSDP2 = "transformers, torch FSDP2"


@dataclass(frozen=True)
class Model:
    """A configuration of share/models with random weights, cut to its first `layers` (0: all)."""

    catalogue: str
    layers: int = 0

    @property
    def name(self):
        return f"{self.catalogue}-{self.layers}-layers" if self.layers else self.catalogue


SMOLLM2 = Model("smollm2-135m")
LLAMA_1B = Model("llama3.2-1b")
GRANITE = Model("granite-3.1-2b", layers=8)


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    method: str  # lora | full
    peer: str
    at_least: float  # of the ratio: peer's time over ours
    aim: float
    model: Model = SMOLLM2
    dtype: str = "bfloat16"
    device: str = "cpu"  # cpu | cuda
    batch: int = 4  # rows of a rank
    ranks: int = 1  # processes; the peer's are torch's DDP, or FSDP2 where its name says so, over gloo, by torchrun
    plugin: str = "torch_ddp"  # of ours, over ranks
    shortest: int = 512  # tokens of a row, drawn evenly from shortest..longest
    longest: int = 512
    masked: float = 0.0  # part of each row, from its begin, that bears no loss
    warmup: int = 1  # steps before those that are measured
    steps: int = 2  # measured steps of a turn
    gradient_checkpointing: bool = False  # of all layers, in both programs
    our_checkpointed_layers: int = 0  # so many layers in ours alone, which buys memory with time
    neighbour: bool = False  # another process keeps one core busy
    environment: dict = field(default_factory=dict)
    measures: str = "throughput"  # throughput | start: seconds from the command to the first step

    @property
    def rows_of_step(self):
        """Of all ranks."""
        return self.batch * self.ranks

    @property
    def peer_shards(self):
        return self.peer in (PEFT_FSDP2, TRANSFORMERS_FSDP2)

    @property
    def all_steps(self):
        return self.warmup + self.steps

    @property
    def process_environment(self):
        """What the doctor that gives the ceilings runs under, and on one rank both programs."""
        return self.environment if self.device == "cuda" else {**self.environment, "CUDA_VISIBLE_DEVICES": ""}

    @property
    def rank_environment(self):
        """What both programs run under: ranks share the cores."""
        if self.ranks == 1:
            return self.process_environment
        threads = max(1, len(os.sched_getaffinity(0)) // self.ranks)
        return {**self.process_environment, "OMP_NUM_THREADS": str(threads)}

    @property
    def ceilings(self):
        """The name of the ceilings that the row is held against."""
        return "cuda" if self.device == "cuda" else self.environment.get("ASSAY_CPU_ISA", "native")

    @property
    def loss_tolerance(self):
        """Largest relative difference of any step's loss."""
        return self._tolerances[0]

    @property
    def grad_norm_tolerance(self):
        """The norm before clipping sums rounding errors of every layer, so it gets more room than the loss."""
        return self._tolerances[1]

    @property
    def _tolerances(self):
        if self.device == "cuda":
            return GPU_TOLERANCE[self.dtype]
        return tuple(TOLERANCE_FACTOR * spread for spread in MEASURED_SPREAD[self.dtype])


#: Full rows of 2,048 tokens on a GPU, where one is there.
ON_GPU = {"model": LLAMA_1B, "device": "cuda", "shortest": 2048, "longest": 2048, "warmup": 3, "steps": 8}
MIXED = {"shortest": 180, "longest": 512, "masked": 1 / 3}

ROWS = (
    Row("lora", "LoRA, rows of 180 to 512, a third masked", "lora", PEFT, 3.0, 5.0, **MIXED, steps=3),
    Row("lora-512", "LoRA, rows of 512, all supervised", "lora", PEFT, 2.5, 4.0),
    Row("full", "full, rows of 180 to 512, a third masked", "full", TRANSFORMERS, 2.5, 4.0, **MIXED),
    Row("full-512", "full, rows of 512, all supervised", "full", TRANSFORMERS, 2.5, 4.0),
    Row(
        "lora-2048",
        "LoRA, one row of 2,048, gradient checkpointing",
        "lora",
        PEFT,
        2.5,
        4.0,
        batch=1,
        shortest=2048,
        longest=2048,
        gradient_checkpointing=True,
    ),
    Row("lora-busy", "the first row beside a busy process", "lora", PEFT, 3.0, 5.0, **MIXED, neighbour=True),
    Row("lora-ranks", "LoRA on 2 ranks, 4 rows of 512 each; DDP", "lora", PEFT_DDP, 3.0, 5.0, ranks=2),
    Row("full-ranks", "full on 2 ranks, 4 rows of 512 each; DDP", "full", TRANSFORMERS_DDP, 3.0, 5.0, ranks=2),
    Row(
        "lora-shard",
        "LoRA on 2 ranks, 4 rows of 512 each; FULL_SHARD and FSDP2",
        "lora",
        PEFT_FSDP2,
        3.0,
        5.0,
        ranks=2,
        plugin="FULL_SHARD",
    ),
    Row(
        "full-shard",
        "full on 2 ranks, 4 rows of 512 each; FULL_SHARD and FSDP2",
        "full",
        TRANSFORMERS_FSDP2,
        3.0,
        5.0,
        ranks=2,
        plugin="FULL_SHARD",
    ),
    Row(
        "lora-ranks-mixed",
        "LoRA on 2 ranks, 4 rows of 180 to 512 each, a third masked; DDP",
        "lora",
        PEFT_DDP,
        3.0,
        5.0,
        **MIXED,
        ranks=2,
    ),
    Row(
        "full-ranks-mixed",
        "full on 2 ranks, 4 rows of 180 to 512 each, a third masked; DDP",
        "full",
        TRANSFORMERS_DDP,
        3.0,
        5.0,
        **MIXED,
        ranks=2,
    ),
    Row(
        "granite",
        "Granite 3.1-2B shape, 8 layers, LoRA, 2 rows of 512; ours checkpoints 5 layers",
        "lora",
        PEFT,
        2.0,
        3.0,
        model=GRANITE,
        batch=2,
        our_checkpointed_layers=5,
    ),
    Row(
        "fp32-avx2",
        "full, float32, AVX2 only, rows of 180 to 512, a third masked; ours checkpoints 20 of 30 layers",
        "full",
        TRANSFORMERS,
        1.2,
        1.6,
        **MIXED,
        dtype="float32",
        steps=1,
        our_checkpointed_layers=20,
        environment=AVX2_ONLY,
    ),
    Row(
        "start",
        "command to first step, full",
        "full",
        TRANSFORMERS,
        5.0,
        20.0,
        **MIXED,
        warmup=0,
        steps=1,
        measures="start",
    ),
    Row("gpu-lora", "GPU: 1B Llama shape, LoRA, 4 rows of 2,048", "lora", PEFT, 1.5, 2.5, **ON_GPU),
    Row("gpu-full", "GPU: 1B Llama shape, full, 4 rows of 2,048", "full", TRANSFORMERS, 1.5, 2.5, **ON_GPU),
)

#: "at least" and "aim" for our peak memory over the peer's.
MEMORY_AT_LEAST, MEMORY_AIM = 0.5, 0.35


def select(names):
    """The rows of these names in the table's order; all for no names. An unknown name is a ValueError."""
    known = [row.name for row in ROWS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no row is called {', '.join(unknown)} (there are {', '.join(known)})")
    return [row for row in ROWS if not names or row.name in names]


def shortened(row):
    """The row with as few steps as show that it works."""
    return replace(row, warmup=min(row.warmup, 1), steps=1)


def from_dict(values):
    """The row that asdict() made `values` of."""
    return Row(**{**values, "model": Model(**values["model"])})
