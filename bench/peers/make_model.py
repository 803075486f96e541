"""Makes what both programs start from: a model folder with random bfloat16 weights and a LoRA adapter for it.

Writes OUTPUT/model (as transformers saves it) and OUTPUT/adapter (as peft does; of rank 4 on q_proj and v_proj). Both
programs read the same adapter, since they would draw its numbers in different ways. OUTPUT appears when it is complete.
"""

import argparse
import os
import pathlib
import shutil

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=pathlib.Path, required=True, help="config.json of the shape")
    parser.add_argument("--layers", type=int, default=0, help="cut to so many layers; 0: all")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()

    config = AutoConfig.from_pretrained(arguments.config)
    if arguments.layers:
        config.num_hidden_layers = arguments.layers
    partial = arguments.output.with_name(arguments.output.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(partial / "model")
    lora = LoraConfig(r=4, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    get_peft_model(model, lora).save_pretrained(partial / "adapter")
    os.replace(partial, arguments.output)


if __name__ == "__main__":
    main()
