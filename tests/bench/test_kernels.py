import json

from harness import kernels

CEILINGS = {"tflops": {"bfloat16": 0.4}, "memory_gb_per_s": 50.0}


def parse(**entry):
    defaults = {"name": "k/1/process_time/real_time", "real_time": 2.0, "cpu_time": 3000.0, "time_unit": "us"}
    (result,) = kernels.parse(json.dumps({"benchmarks": [{**defaults, "label": "bfloat16", **entry}]}))
    return result


def test_a_product_is_held_against_its_dtypes_peak():
    result = parse(**{"GFLOP/s": 100.0})
    assert (result.name, result.dtype, result.wall_ms, result.cpu_ms) == ("k/1", "bfloat16", 0.002, 3.0)
    assert result.share(CEILINGS) == 0.25
    assert kernels.line(result, CEILINGS, 0)[4:] == ["100 GFLOP/s", "25%"]


def test_a_pass_is_held_against_memory_unless_it_stays_in_the_cache():
    result = parse(**{"GB/s": 25.0, "MiB": 64.0})
    assert kernels.line(result, CEILINGS, 32 << 20)[4:] == ["25.0 GB/s", "50%"]
    assert kernels.line(result, CEILINGS, 128 << 20)[4:] == ["25.0 GB/s", "in cache"]


def test_a_kernel_without_a_rate_has_no_share():
    assert kernels.line(parse(), CEILINGS, 0)[4:] == ["", ""]


def test_a_whole_step_gets_the_rate_of_the_products_it_needs():
    step = kernels.with_step_rate(parse(name="decoder_step/lora/1/process_time/real_time", real_time=2e6))
    assert step.wall_ms == 2000
    assert 0.6 < step.gflops * 2 / 1e3 < 0.8  # TFLOP of 1,302 tokens, 866 of them supervised
    assert kernels.with_step_rate(parse()) == parse()
