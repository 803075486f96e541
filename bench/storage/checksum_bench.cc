// Checksums against the memory they read: bytes per second of one core, by engine and size. The sizes are a small
// object, a block in the second-level cache, a part as it passes through, and memory beyond every cache; `Copy` and
// `Read` are the ceilings.
#include <benchmark/benchmark.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "storage/integrity/crc.h"

namespace assay::storage {
namespace {

void Report(benchmark::State& state, const std::vector<std::byte>& bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}

std::vector<std::byte> Content(const benchmark::State& state) {
  return std::vector<std::byte>(static_cast<size_t>(state.range(0)), std::byte{0x5a});
}

template <auto kFunction, CrcEngine kEngine>
void Crc(benchmark::State& state) {
  if (!IsSupported(kEngine)) {
    state.SkipWithError("this machine lacks the instructions");
    return;
  }
  const std::vector<std::byte> bytes = Content(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kFunction(kEngine, 0, bytes));
  }
  Report(state, bytes);
}

void Digest(benchmark::State& state, ChecksumKind kind) {
  const std::vector<std::byte> bytes = Content(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ChecksumOf(kind, bytes));
  }
  Report(state, bytes);
}

void Copy(benchmark::State& state) {
  const std::vector<std::byte> bytes = Content(state);
  std::vector<std::byte> target(bytes.size());
  for (auto _ : state) {
    std::memcpy(target.data(), bytes.data(), bytes.size());
    benchmark::ClobberMemory();
  }
  Report(state, bytes);
}

void Read(benchmark::State& state) {
  const std::vector<std::byte> bytes = Content(state);
  const auto* words = reinterpret_cast<const uint64_t*>(bytes.data());
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::reduce(words, words + bytes.size() / sizeof *words));
  }
  Report(state, bytes);
}

constexpr int64_t kSmall = 16 << 10;
constexpr int64_t kBlock = 256 << 10;
constexpr int64_t kPart = 8 << 20;
constexpr int64_t kMemory = 512 << 20;

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(kSmall)->Arg(kBlock)->Arg(kPart)->Arg(kMemory);
}

BENCHMARK(Copy)->Apply(Sizes);
BENCHMARK(Read)->Apply(Sizes);
BENCHMARK(Crc<&Crc32cBy, CrcEngine::kVpclmul>)->Name("Crc32c/vpclmul")->Apply(Sizes);
BENCHMARK(Crc<&Crc32cBy, CrcEngine::kPclmul>)->Name("Crc32c/pclmul")->Apply(Sizes);
BENCHMARK(Crc<&Crc32cBy, CrcEngine::kTable>)->Name("Crc32c/table")->Arg(kBlock);
BENCHMARK(Crc<&Crc64NvmeBy, CrcEngine::kVpclmul>)->Name("Crc64Nvme/vpclmul")->Apply(Sizes);
BENCHMARK(Crc<&Crc64NvmeBy, CrcEngine::kPclmul>)->Name("Crc64Nvme/pclmul")->Apply(Sizes);
BENCHMARK(Crc<&Crc64NvmeBy, CrcEngine::kTable>)->Name("Crc64Nvme/table")->Arg(kBlock);
BENCHMARK_CAPTURE(Digest, md5, ChecksumKind::kMd5)->Arg(kBlock);
BENCHMARK_CAPTURE(Digest, sha256, ChecksumKind::kSha256)->Arg(kBlock);

}  // namespace
}  // namespace assay::storage
