"""Rows of prompt and completion as what transformers trains on: the completion bears loss."""

import torch

MASKED = -100


def load_tokenizer(folder):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)


class Rows(torch.utils.data.IterableDataset):
    """The samples of a connector, tokenised in the loader's processes; epoch after epoch. A process that none of them
    fell to, since there are fewer files than processes, has no rows instead of looking for them for ever."""

    def __init__(self, samples, tokenizer, fine_tune):
        self.samples, self.tokenizer = samples, tokenizer
        self.length = fine_tune["model_max_length"]

    def __iter__(self):
        is_empty = False
        while not is_empty:
            is_empty = True
            for sample in self.samples:
                is_empty = False
                yield self.encode(sample)

    def encode(self, sample):
        prompt = self.tokenizer(sample["prompt"])["input_ids"]
        ids = self.tokenizer(sample["prompt"] + sample["completion"])["input_ids"]
        if self.tokenizer.eos_token_id is not None:
            ids = [*ids, self.tokenizer.eos_token_id]
        masked = min(len(prompt), len(ids))
        return {"input_ids": ids[: self.length], "labels": ([MASKED] * masked + ids[masked:])[: self.length]}


def collate(rows):
    width = max(len(row["input_ids"]) for row in rows)

    def padded(values, filler):
        return torch.tensor([value + [filler] * (width - len(value)) for value in values])

    return {
        "input_ids": padded([row["input_ids"] for row in rows], 0),
        "labels": padded([row["labels"] for row in rows], MASKED),
        "attention_mask": padded([[1] * len(row["input_ids"]) for row in rows], 0),
    }
