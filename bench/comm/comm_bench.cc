// Times all-reduce, all-gather and reduce-scatter of float32 between processes of one thread, in turns: on one machine
// shared memory with the buffers in it and outside, our gloo, and c10d's gloo; with ranks that take each other to be on
// several machines, what they choose then, our gloo alone, and c10d's; and within each of the machines the group that
// what they chose makes there beside one of shared memory alone. Prints a Markdown table.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "c10d_gloo.h"
#include "engine/comm/connect.h"
#include "engine/comm/rank_environment.h"

namespace assay::bench {
namespace {

using engine::Communicator;
using engine::ReduceOp;

constexpr std::array<const char*, 3> kOperations = {"all_reduce", "all_gather", "reduce_scatter"};

struct Settings {
  int ranks = 2;
  int machines = 1;
  int rounds = 15;
  int port = 29511;
  std::string execution = "caller";
  std::vector<int64_t> mebibytes = {1, 25, 83};  ///< of the full buffers
  std::vector<std::string> collectives = {"all_reduce", "all_gather", "reduce_scatter"};
  std::string store;  ///< file of c10d's ranks
};

/// One rank's communicators and buffers.
struct Bench {
  std::unique_ptr<Communicator> shm;  ///< of all ranks, also where they are said to be on several machines: for turns
  std::unique_ptr<Communicator> chosen;  ///< for the machines that the ranks are said to be on
  std::unique_ptr<Communicator> gloo;
  std::unique_ptr<C10dGloo> c10d;
  std::unique_ptr<Communicator> shm_here;  ///< of this rank's machine; with several
  std::unique_ptr<Communicator> chosen_here;
};

struct Variant {
  std::string name;
  std::function<void()> run;
};

void collective(Communicator& ranks, int operation, const at::Tensor& full, const at::Tensor& shard) {
  if (operation == 0) {
    ranks.all_reduce(full, ReduceOp::kSum, "bench")->wait();
  } else if (operation == 1) {
    ranks.all_gather(full, shard, "bench")->wait();
  } else {
    ranks.reduce_scatter(shard, full, ReduceOp::kSum, "bench")->wait();
  }
}

void collective(C10dGloo& ranks, int operation, const at::Tensor& full, const at::Tensor& shard) {
  if (operation == 0) {
    ranks.all_reduce(full);
  } else if (operation == 1) {
    ranks.all_gather(full, shard);
  } else {
    ranks.reduce_scatter(shard, full);
  }
}

/// What is timed, the peer last. Buffers live in the functions.
std::vector<Variant> variants_of(Bench& bench, const Settings& settings, int64_t mebibytes, int operation) {
  const int64_t elements = mebibytes * (1 << 20) / 4 / settings.ranks * settings.ranks;
  const int64_t part = elements / settings.ranks;
  const at::Tensor own = at::zeros({elements}, at::kFloat);
  const at::Tensor own_shard = at::zeros({part}, at::kFloat);
  const auto in_it = [=](Communicator* ranks) {
    const at::Tensor full = ranks->allocate(elements, at::kFloat).fill_(0);
    const int64_t own_part = elements / ranks->size();
    return [=] { collective(*ranks, operation, full, full.narrow(0, own_part * ranks->rank(), own_part)); };
  };
  const auto outside = [=](auto* ranks) { return [=] { collective(*ranks, operation, own, own_shard); }; };
  std::vector<Variant> variants;
  if (settings.machines == 1) {
    variants.push_back({"shm, buffers in it", in_it(bench.shm.get())});
    variants.push_back({"shm, private buffers", outside(bench.shm.get())});
  }
  const std::string chosen = "auto (" + std::string(bench.chosen->backend()) + ")";
  variants.push_back({chosen + ", buffers in it", in_it(bench.chosen.get())});
  variants.push_back({chosen + ", private buffers", outside(bench.chosen.get())});
  if (settings.machines > 1) {
    variants.push_back({"within a machine: shm alone", in_it(bench.shm_here.get())});
    variants.push_back({"within a machine: " + chosen, in_it(bench.chosen_here.get())});
  }
  variants.push_back({"gloo, ours", outside(bench.gloo.get())});
  variants.push_back({"gloo, c10d's", outside(bench.c10d.get())});
  return variants;
}

/// Seconds of each round, by variant.
std::vector<std::vector<double>> measure(Bench& bench, const std::vector<Variant>& variants, int rounds) {
  std::vector<std::vector<double>> seconds(variants.size());
  constexpr int kWarmUp = 2;
  for (int round = -kWarmUp; round < rounds; ++round) {
    for (size_t variant = 0; variant < variants.size(); ++variant) {
      bench.shm->barrier("turn");
      const double start = MonotonicSeconds();
      variants[variant].run();
      bench.shm->barrier("turn");
      if (round >= 0) {
        seconds[variant].push_back(MonotonicSeconds() - start);
      }
    }
  }
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_rows(int64_t mebibytes, int operation, const std::vector<Variant>& variants,
                const std::vector<std::vector<double>>& seconds) {
  const double base = median(seconds.back());
  for (size_t variant = 0; variant < seconds.size(); ++variant) {
    const double typical = median(seconds[variant]);
    const double best = *std::min_element(seconds[variant].begin(), seconds[variant].end());
    std::printf("| %s | %ld MiB | %s | %.2f | %.2f | %.0f | %.1f |\n", kOperations[static_cast<size_t>(operation)],
                static_cast<long>(mebibytes), variants[variant].name.c_str(), typical * 1e3, best * 1e3,
                static_cast<double>(mebibytes) / typical, base / typical);
  }
}

/// A step as backward makes it: products, and after each a gradient bucket that is reduced beside the next. Seconds of
/// the median step.
double step_seconds(Communicator& ranks, int rounds) {
  constexpr int kBuckets = 8;
  constexpr int64_t kBucketElements = 1 << 20;
  constexpr int64_t kWidth = 512;
  std::vector<at::Tensor> buckets;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    buckets.push_back(ranks.allocate(kBucketElements, at::kFloat).fill_(0));
  }
  const at::Tensor a = at::ones({kWidth, kWidth});
  at::Tensor c = at::empty({kWidth, kWidth});
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    ranks.barrier("step");
    const double start = MonotonicSeconds();
    std::vector<engine::WorkPtr> works;
    for (const at::Tensor& bucket : buckets) {
      at::mm_out(c, a, a);
      works.push_back(ranks.all_reduce(bucket, ReduceOp::kAverage, "bucket"));
    }
    for (const engine::WorkPtr& work : works) {
      work->wait();
    }
    seconds.push_back(MonotonicSeconds() - start);
  }
  return median(seconds);
}

engine::RankEnvironment environment_of(const Settings& settings, int rank, int port, int machines = 1) {
  engine::RankEnvironment environment;
  environment.rank = rank;
  environment.world_size = settings.ranks;
  environment.local_world_size = settings.ranks / machines;
  environment.local_rank = rank % environment.local_world_size;
  environment.address = "127.0.0.1";
  environment.port = port;
  return environment;
}

/// Those that take each other to be on the machine of `rank`.
std::vector<int> ranks_of_machine(const Settings& settings, int rank) {
  std::vector<int> ranks(static_cast<size_t>(settings.ranks / settings.machines));
  std::iota(ranks.begin(), ranks.end(), rank / static_cast<int>(ranks.size()) * static_cast<int>(ranks.size()));
  return ranks;
}

void run_rank(const Settings& settings, int rank) {
  at::set_num_threads(1);
  engine::CommOptions options;
  options.execution = settings.execution == "thread" ? engine::Execution::kThread : engine::Execution::kCaller;
  Bench bench;
  bench.shm = engine::connect_ranks(environment_of(settings, rank, settings.port), "shm", options);
  bench.chosen =
      engine::connect_ranks(environment_of(settings, rank, settings.port + 2, settings.machines), "auto", options);
  if (settings.machines > 1) {
    const std::vector<int> here = ranks_of_machine(settings, rank);
    bench.shm_here = bench.shm->split(here, "machine");
    bench.chosen_here = bench.chosen->split(here, "machine");
  }
  bench.gloo = engine::connect_ranks(environment_of(settings, rank, settings.port + 1), "gloo", options);
  bench.c10d = std::make_unique<C10dGloo>(settings.store, rank, settings.ranks);
  const double step = step_seconds(*bench.shm, settings.rounds);
  if (rank == 0) {
    std::printf("8 products and 8 all-reduces of 4 MiB beside them, collectives on the %s: %.2f ms\n\n",
                settings.execution.c_str(), step * 1e3);
    std::puts("| collective | size | how | ms (median) | ms (best) | MiB/s | times c10d's gloo |");
    std::puts("| --- | --- | --- | --- | --- | --- | --- |");
  }
  for (const int64_t mebibytes : settings.mebibytes) {
    for (int operation = 0; operation < static_cast<int>(kOperations.size()); ++operation) {
      if (std::ranges::find(settings.collectives, kOperations[static_cast<size_t>(operation)]) ==
          settings.collectives.end()) {
        continue;
      }
      const std::vector<Variant> variants = variants_of(bench, settings, mebibytes, operation);
      const auto seconds = measure(bench, variants, settings.rounds);
      if (rank == 0) {
        print_rows(mebibytes, operation, variants, seconds);
      }
    }
  }
}

/// Ranks are processes forked before libtorch has threads.
int run(Settings settings) {
  const Result<TemporaryDirectory> directory = TemporaryDirectory::Create("comm-bench");
  if (!directory.ok()) {
    std::fprintf(stderr, "comm_bench: %s\n", directory.status().message().c_str());
    return 1;
  }
  settings.store = directory->path() + "/store";
  std::vector<pid_t> children;
  for (int rank = 0; rank < settings.ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        run_rank(settings, rank);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "comm_bench: rank %d: %s\n", rank, error.what());
        std::_Exit(1);
      }
      std::fflush(stdout);
      std::_Exit(0);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    failed += status != 0 ? 1 : 0;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  assay::bench::Settings settings;
  CLI::App app("Times collectives between ranks of one thread.");
  app.add_option("--ranks", settings.ranks, "processes")->check(CLI::Range(1, 64));
  app.add_option("--machines", settings.machines, "that the ranks take each other to be on, equally many on each")
      ->check(CLI::Range(1, 64));
  app.add_option("--rounds", settings.rounds, "rounds a row")->check(CLI::Range(1, 1000));
  app.add_option("--port", settings.port, "first of three free TCP ports");
  app.add_option("--execution", settings.execution, "caller | thread")->check(CLI::IsMember({"caller", "thread"}));
  app.add_option("--mebibytes", settings.mebibytes, "sizes of the full buffers")->delimiter(',');
  app.add_option("--collectives", settings.collectives, "of all_reduce, all_gather, reduce_scatter")
      ->delimiter(',')
      ->check(CLI::IsMember({"all_reduce", "all_gather", "reduce_scatter"}));
  CLI11_PARSE(app, argc, argv);
  if (settings.ranks % settings.machines != 0) {
    std::fputs("comm_bench: --ranks must be a multiple of --machines\n", stderr);
    return 2;
  }
  return assay::bench::run(settings);
}
