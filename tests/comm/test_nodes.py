"""Ranks of several machines, as torchrun starts them: two of its agents on this machine are two machines."""

import json

import pytest
from nodes import NEVER, end_nodes, has_ended, start_nodes, wait_for
from ports import free_port, is_listening
from probe import PROBE, assert_same, finish, start, start_machines, torch_results
from probe import wait_until_running as start_of_loop


@pytest.fixture
def start_agents(tmp_path):
    nodes = []

    def start_all(mode, ranks_of_nodes, **options):
        nodes.extend(start_nodes(tmp_path, [PROBE, mode], ranks_of_nodes, free_port(), **options))
        return nodes

    yield start_all
    end_nodes(nodes)


def results_of(nodes):
    for node in nodes:
        assert node.agent.wait(300) == 0, node.errors("comm_probe")
    results = [json.loads(text) for node in nodes for text in node.texts("stdout")]
    return sorted(results, key=lambda result: result["rank"])


def assert_results(results, ranks, backend):
    assert {result["backend"] for result in results} == {backend}
    sums = [{dtype: result[dtype]["all_reduce"] for dtype in ("float32", "bfloat16")} for result in results]
    assert sums == [sums[0]] * len(sums), "the same bits on every rank"
    assert_same(results, torch_results(ranks))


def test_results_are_those_of_torch_distributed(start_agents):
    assert_results(results_of(start_agents("check", [2, 2])), 4, "shm+gloo")


@pytest.mark.parametrize("ranks_of_machines, backend", [([2, 1], "shm+gloo"), ([1, 1], "gloo")])
def test_unequal_and_single_ranks_give_the_same_results(ranks_of_machines, backend):
    ended = [finish(process) for process in start_machines("check", ranks_of_machines)]
    assert {code for _, _, code in ended} == {0}, ended
    assert_results([json.loads(out) for out, _, _ in ended], sum(ranks_of_machines), backend)


@pytest.mark.parametrize("ranks_of_machines, backend", [([2, 1], "shm+gloo"), ([1, 1], "gloo")])
def test_machines_meet_over_the_network_between_them(ranks_of_machines, backend, cabled):
    ranks = []
    for machine, count in enumerate(ranks_of_machines):
        place = {"GROUP_RANK": str(machine), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "10.77.0.1"}
        for local in range(count):
            size = sum(ranks_of_machines)
            more = {**place, "LOCAL_RANK": str(local), "ASSAY_COMM_TIMEOUT": NEVER}
            ranks.append(start("check", "auto", len(ranks), size, 29500, within=cabled[machine], **more))
    ended = [finish(process) for process in ranks]
    assert {code for _, _, code in ended} == {0}, ended
    assert_results([json.loads(out) for out, _, _ in ended], len(ranks), backend)


@pytest.fixture
def running_nodes(start_agents):
    """Two machines of two ranks each, whose agents do not end the ranks before these have said what they saw."""
    nodes = start_agents("loop", [2, 2], monitor_seconds=1000)
    wait_for(lambda: all(node.texts("stdout") == ["running\n"] * 2 for node in nodes))
    return nodes


def test_a_lost_machine_is_named_with_its_ranks(running_nodes):
    others = running_nodes[0].workers()
    running_nodes[1].kill()
    wait_for(lambda: all(has_ended(pid) for pid in others))
    errors = [error for node in running_nodes for error in node.errors("comm_probe")]
    assert len(errors) == 2 and errors[0] == errors[1], errors
    assert "machine 1 (" in errors[0] and "ranks 2 and 3) was lost in collective" in errors[0], errors
    assert "all_reduce of blocks.3" in errors[0]


def lines_of(processes):
    """The one line of each, all of which fail."""
    lines = []
    for process in processes:
        _, err, code = finish(process)
        assert code == 1
        lines += [line for line in err.splitlines() if line.startswith("comm_probe: ")]
    assert len(lines) == len(processes), lines
    return lines


def test_a_lost_rank_is_named_on_every_machine():
    *others, victim = ranks = start_machines("loop", [2, 2], ASSAY_COMM_TIMEOUT=NEVER)
    start_of_loop(ranks)
    victim.kill()
    lines = lines_of(others)
    victim.communicate()
    assert set(lines) == {lines[0]}, lines
    assert f"(process {victim.pid}) was lost in collective" in lines[0] and "its process has ended" in lines[0]


def test_ranks_that_call_different_things_are_told_so():
    lines = lines_of(start_machines("differ", [1, 2], ASSAY_COMM_TIMEOUT=NEVER))
    assert set(lines) == {lines[0]}, lines
    assert "calls all_reduce of blocks.3" in lines[0] and "calls broadcast of blocks.2" in lines[0]


def by_hand(mode, rank, port, **more):
    """A rank of the first of two machines with two ranks each."""
    return start(mode, "auto", rank, 4, port, LOCAL_WORLD_SIZE="2", GROUP_RANK="0", **more)


def test_a_machine_that_never_comes_is_one_line():
    """Whoever's patience ends first ends all."""
    port = free_port()
    ranks = [by_hand("check", 0, port, ASSAY_COMM_START_TIMEOUT="3600")]
    wait_for(lambda: is_listening(port))
    ranks.append(by_hand("check", 1, port, ASSAY_COMM_START_TIMEOUT="3"))
    first, second = lines_of(ranks)
    assert first == second and "ranks 2 and 3 did not come" in first and " within 3.00 s" in first


def test_ranks_that_do_not_know_who_shares_their_machine_are_told_so():
    port = free_port()
    ranks = [
        start("check", "auto", rank, 2, port, LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", GROUP_RANK="0") for rank in range(2)
    ]
    for process in ranks:
        _, err, code = finish(process)
        assert code == 1
        assert "was told of 1 ranks on its machine" in err and "GROUP_RANK" in err
        assert len(err.splitlines()) == 1
