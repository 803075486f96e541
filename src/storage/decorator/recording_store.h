// Writes down every operation, so that two runs can be compared.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "storage/decorator/intercepting_store.h"

namespace assay::storage {

/// One JSON object a line, without times: {"op":"read","key":"a","count":1,"bytes":5,"ranges":[[0,5]],"status":"ok"}.
/// A line is written when its operation ends. The sink is called by one thread at a time.
class RecordingStore final : public InterceptingStore {
 public:
  using Sink = std::function<void(std::string_view line)>;
  RecordingStore(std::shared_ptr<ObjectStore> inner, Sink sink)
      : InterceptingStore(std::move(inner)), sink_(std::move(sink)) {}

 protected:
  Status After(const StoreOperation& operation, Status status) override;

 private:
  std::mutex mutex_;
  const Sink sink_;  // called under mutex_
};

}  // namespace assay::storage
