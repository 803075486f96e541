"""The peer: the same training steps of a vision transformer by transformers and torch.optim. Prints one JSON object."""

import argparse
import json
import resource
import time

import torch
import transformers
from safetensors.torch import load_file
from transformers import ViTForImageClassification


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True, help="safetensors with pixels and labels")
    parser.add_argument("--mode", choices=["fp32", "amp", "bf16"], default="amp", help="amp: bf16 autocast")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--gradient-checkpointing", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    dtype = torch.bfloat16 if arguments.mode == "bf16" else torch.float32
    model = ViTForImageClassification.from_pretrained(arguments.model, dtype=dtype).train()
    if arguments.gradient_checkpointing:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.0, foreach=True)
    data = load_file(arguments.data)
    pixels, labels = data["pixels"][: arguments.batch].to(dtype), data["labels"][: arguments.batch]
    seconds, cpu_seconds, losses = [], [], []
    first_grad_norm = None
    for _ in range(arguments.steps):
        start, cpu_start = time.perf_counter(), time.process_time()
        with torch.autocast("cpu", torch.bfloat16, enabled=arguments.mode == "amp"):
            loss = model(pixel_values=pixels, labels=labels).loss
        loss.backward()
        if first_grad_norm is None:  # of the step that is not measured
            gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
            first_grad_norm = torch.nn.utils.get_total_norm([gradient.float() for gradient in gradients]).item()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
        losses.append(loss.item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    versions = f"transformers {transformers.__version__}, torch {torch.__version__}"
    print(
        json.dumps(
            {
                "step_seconds": seconds,
                "cpu_seconds": cpu_seconds,
                "losses": losses,
                "first_grad_norm": first_grad_norm,
                "max_rss_bytes": peak,
                "versions": versions,
            }
        )
    )


if __name__ == "__main__":
    main()
