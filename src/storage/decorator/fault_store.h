// Lets operations of a store fail on purpose, again in the same way for the same seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/decorator/intercepting_store.h"

namespace assay::storage {

struct FaultRule {
  enum class Kind {
    kRefuse,      ///< the operation is not done
    kLoseAnswer,  ///< it is done, and its caller is told that it failed
    kFlipBit,     ///< it succeeds, and one bit of what was read is wrong
  };
  Kind kind = Kind::kRefuse;
  std::string operation{};  ///< StoreOperation::name; empty: every one
  double rate = 0;          ///< probability, 0 to 1
  ErrorCode code = ErrorCode::kIo;
};

/// Whether the n-th operation of a name fails depends on the seed, its name and n alone, so threads that do different
/// things do not disturb each other. Of several rules that hit, the first counts.
class FaultStore final : public InterceptingStore {
 public:
  FaultStore(std::shared_ptr<ObjectStore> inner, std::vector<FaultRule> rules, uint64_t seed)
      : InterceptingStore(std::move(inner)), rules_(std::move(rules)), seed_(seed) {}

  int64_t faults() const;

 protected:
  Status Before(const StoreOperation& operation) override;
  Status After(const StoreOperation& operation, Status status) override;

 private:
  struct Draw {
    const FaultRule* rule = nullptr;  // null: nothing goes wrong
    uint64_t noise = 0;
  };
  Draw Decide(const StoreOperation& operation);

  const std::vector<FaultRule> rules_;
  const uint64_t seed_;
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t, std::less<>> sequence_;  // operations so far, by name; guarded by mutex_
  int64_t faults_ = 0;                                     // guarded by mutex_
};

}  // namespace assay::storage
