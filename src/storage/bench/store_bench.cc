#include "storage/bench/store_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "storage/bench/bench_memory.h"
#include "storage/bench/tensor_object.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

constexpr int64_t kTensors = 8;

Status Different(ObjectStore& store, const std::string& key) {
  return Status::Internal("what was read from " + store.Uri(key) + " is not what was written there");
}

Status FirstFailure(const std::vector<Status>& statuses) {
  const auto failed = std::find_if(statuses.begin(), statuses.end(), [](const Status& s) { return !s.ok(); });
  return failed == statuses.end() ? Status::Ok() : *failed;
}

/// What a repeat does, in both directions.
class Workload {
 public:
  Workload(ObjectStore& store, const StoreBenchPlan& plan) : store_(store), plan_(plan) {}
  virtual ~Workload() = default;
  virtual Status Put() = 0;
  virtual Status Get() = 0;
  /// Whether what the last Get() brought is what was put; frees it.
  virtual Status Compare() = 0;
  virtual std::vector<std::string> Keys() const = 0;

 protected:
  ObjectStore& store() { return store_; }
  const StoreBenchPlan& plan() const { return plan_; }
  WriteOptions write() const {
    WriteOptions options;
    options.cancel = plan_.cancel;
    return options;
  }
  ReadOptions read() const {
    ReadOptions options;
    options.cancel = plan_.cancel;
    return options;
  }

 private:
  ObjectStore& store_;
  const StoreBenchPlan& plan_;
};

/// One object, or many of one size that lie one behind the other in memory.
class PlainWork : public Workload {
 public:
  PlainWork(ObjectStore& store, const StoreBenchPlan& plan, BenchMemory content, BenchMemory received)
      : Workload(store, plan), content_(std::move(content)), received_(std::move(received)) {
    const auto bytes = static_cast<size_t>(plan.object_bytes);
    for (size_t i = 0; i < static_cast<size_t>(plan.objects); ++i) {
      const std::string key = fmt::format("{}{:06}", plan.prefix, i);
      writes_.push_back({key, content_.bytes().subspan(i * bytes, bytes)});
      reads_.push_back({key, {0, received_.bytes().subspan(i * bytes, bytes)}});
    }
  }

  Status Put() override {
    if (writes_.size() == 1) {
      return store().Write(writes_[0].key, std::span(&writes_[0].content, 1), write()).status();
    }
    return FirstFailure(store().WriteMany(writes_, write()));
  }

  Status Get() override {
    if (reads_.size() == 1) {
      const auto into = [this](int64_t) { return reads_[0].piece.memory; };
      return store().ReadWhole(reads_[0].key, into, read()).status();
    }
    return FirstFailure(store().ReadMany(reads_, read()));
  }

  Status Compare() override {
    const bool same = std::memcmp(content_.bytes().data(), received_.bytes().data(), content_.bytes().size()) == 0;
    received_.Clear();
    return same ? Status::Ok() : Different(store(), plan().prefix);
  }

  std::vector<std::string> Keys() const override {
    std::vector<std::string> keys;
    for (const ObjectWrite& one : writes_) {
      keys.push_back(one.key);
    }
    return keys;
  }

 private:
  BenchMemory content_;
  BenchMemory received_;
  std::vector<ObjectWrite> writes_;
  std::vector<ObjectRead> reads_;
};

class TensorWork : public Workload {
 public:
  TensorWork(ObjectStore& store, const StoreBenchPlan& plan, std::vector<BenchMemory> tensors)
      : Workload(store, plan), key_(plan.prefix + "state.safetensors"), tensors_(std::move(tensors)) {}

  Status Put() override {
    const std::string header =
        TensorHeader(static_cast<int64_t>(tensors_.size()), static_cast<int64_t>(tensors_[0].bytes().size()));
    std::vector<Bytes> buffers = {std::as_bytes(std::span(header.data(), header.size()))};
    for (const BenchMemory& tensor : tensors_) {
      buffers.push_back(tensor.bytes());
    }
    return store().Write(key_, buffers, write()).status();
  }

  Status Get() override {
    ASSAY_ASSIGN_OR_RETURN(std::vector<BenchMemory> loaded, ReadTensors(store(), key_, read()));
    loaded_ = std::make_unique<std::vector<BenchMemory>>(std::move(loaded));
    return Status::Ok();
  }

  Status Compare() override {
    const std::vector<BenchMemory> loaded = std::move(*std::exchange(loaded_, nullptr));
    const bool same = std::equal(tensors_.begin(), tensors_.end(), loaded.begin(), loaded.end(),
                                 [](const BenchMemory& a, const BenchMemory& b) {
                                   return a.bytes().size() == b.bytes().size() &&
                                          std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
                                 });
    return same ? Status::Ok() : Different(store(), key_);
  }

  std::vector<std::string> Keys() const override { return {key_}; }

 private:
  std::string key_;
  std::vector<BenchMemory> tensors_;
  std::unique_ptr<std::vector<BenchMemory>> loaded_;
};

Result<std::unique_ptr<Workload>> MakeWorkload(ObjectStore& store, const StoreBenchPlan& plan) {
  if (plan.work == StoreBenchPlan::Work::kTensors) {
    std::vector<BenchMemory> tensors;
    for (int64_t i = 0; i < kTensors; ++i) {
      ASSAY_ASSIGN_OR_RETURN(BenchMemory tensor, BenchMemory::Allocate(plan.object_bytes / kTensors / 4 * 4));
      tensor.FillRandom(static_cast<uint64_t>(i));
      tensors.push_back(std::move(tensor));
    }
    return std::unique_ptr<Workload>(std::make_unique<TensorWork>(store, plan, std::move(tensors)));
  }
  ASSAY_ASSIGN_OR_RETURN(BenchMemory content, BenchMemory::Allocate(plan.object_bytes * plan.objects));
  ASSAY_ASSIGN_OR_RETURN(BenchMemory received, BenchMemory::Allocate(plan.object_bytes * plan.objects));
  content.FillRandom(1);
  received.Clear();
  return std::unique_ptr<Workload>(std::make_unique<PlainWork>(store, plan, std::move(content), std::move(received)));
}

Status Measure(StoreBenchRow& row, const std::function<Status()>& work) {
  // The content's own size for what arrives, and for what a client may hold beside it as much again, up to 1 GiB.
  constexpr int64_t kMostBeside = int64_t{1} << 30;
  ASSAY_RETURN_IF_ERROR(WarmMemory(row.bytes + std::min(row.bytes, kMostBeside)));
  const RssWatch rss;
  const double cpu = ProcessCpuSeconds();
  const double start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(work());
  row.seconds.push_back(MonotonicSeconds() - start);
  row.cpu_seconds.push_back(ProcessCpuSeconds() - cpu);
  row.peak_rss_beyond_bytes = std::max(row.peak_rss_beyond_bytes, rss.PeakBeyondBytes());  // nothing is the least
  return Status::Ok();
}

Status Repeat(Workload& workload, const StoreBenchPlan& plan, StoreBenchRow& put, StoreBenchRow& get) {
  for (int i = 0; i < plan.repeats; ++i) {
    ASSAY_RETURN_IF_ERROR(Measure(put, [&workload] { return workload.Put(); }));
    ASSAY_RETURN_IF_ERROR(Measure(get, [&workload] { return workload.Get(); }));
    ASSAY_RETURN_IF_ERROR(workload.Compare());
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<StoreBenchRow>> RunStoreBench(ObjectStore& store, const StoreBenchPlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<Workload> workload, MakeWorkload(store, plan));
  const int64_t bytes = plan.object_bytes * plan.objects;
  std::vector<StoreBenchRow> rows = {{"put", bytes, plan.objects, {}, {}, {}},
                                     {"get", bytes, plan.objects, {}, {}, {}}};
  const Status status = Repeat(*workload, plan, rows[0], rows[1]);
  const Status removed = FirstFailure(store.RemoveMany(workload->Keys()));
  ASSAY_RETURN_IF_ERROR(status);
  ASSAY_RETURN_IF_ERROR(removed);
  // New tensors are the content's own memory.
  if (std::optional<int64_t>& beyond = rows[1].peak_rss_beyond_bytes;
      beyond && plan.work == StoreBenchPlan::Work::kTensors) {
    beyond = std::max<int64_t>(0, *beyond - bytes);
  }
  return rows;
}

}  // namespace assay::storage
