// Runs the benchmarks of its program with the worker's allocator: without one that keeps freed blocks, page faults of
// fresh results would be most of what a pass over memory costs.
#include <benchmark/benchmark.h>

#include "engine/kernels/memory.h"

int main(int argc, char** argv) {
  assay::engine::InstallCountingAllocator();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
