#include "explore/run_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "measure/sample_series.h"

namespace assay::explore {
namespace {

/// What the worker's allocator calls "60.00 GiB" behind `phrase`.
std::optional<double> SizeAfter(std::string_view text, std::string_view phrase) {
  const size_t found = text.find(phrase);
  if (found == std::string_view::npos) {
    return std::nullopt;
  }
  const size_t begin = found + phrase.size();
  const size_t number_end = text.find(' ', begin);
  const size_t end = number_end == std::string_view::npos ? number_end : text.find(' ', number_end + 1);
  const Result<int64_t> bytes =
      end == std::string_view::npos ? Status::NotFound("") : ParseBytes(text.substr(begin, end - begin));
  return bytes.ok() ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

/// Of a GPU's memory.
struct Held {
  double by_others = 0;
  double total = 0;
};

/// What others than the worker's allocator held when that ran out, by its own account, which counts what is lost
/// between tensors as the worker's.
std::optional<Held> HeldAtTheEnd(std::string_view account) {
  const std::optional<double> total = SizeAfter(account, "has a total capacity of ");
  const std::optional<double> free = SizeAfter(account, " of which ");
  const std::optional<double> allocated = SizeAfter(account, "Of the allocated memory ");
  const size_t behind = std::min(account.find("is allocated by PyTorch"), account.size());
  const std::optional<double> unallocated = SizeAfter(account.substr(behind), " and ");
  if (!total || !free || !allocated || !unallocated) {
    return std::nullopt;
  }
  return Held{.by_others = *total - *free - *allocated - *unallocated, .total = *total};
}

/// What the run itself took of a GPU at most. Blocks that its allocator kept for reuse are its own.
double OwnPeak(const job::RunRecord& record) {
  const auto* ended = job::FindEvent<job::Ended>(record);
  return ended == nullptr ? 0 : static_cast<double>(std::max(ended->peak_reserved_bytes, ended->peak_tensor_bytes));
}

/// What others held at the first sample, or beside the most that was the run's own when the most was held.
Held HeldAmongSamples(const measure::GpuSeries& gpu, const job::RunRecord& record) {
  if (gpu.memory_used_bytes.empty() || gpu.memory_total_bytes.empty()) {
    return {};
  }
  const double own = OwnPeak(record);
  const double most = *std::ranges::max_element(gpu.memory_used_bytes);
  return {.by_others = std::max(gpu.memory_used_bytes.front(), own > 0 ? most - own : 0),
          .total = gpu.memory_total_bytes.front()};
}

Status CheckShare(const Held& held, const std::string& reason, const std::string& gpu) {
  // What a driver holds of an idle GPU is less.
  constexpr double kMostHeld = 0.1;
  return held.by_others > kMostHeld * held.total
             ? Status::Internal(
                   fmt::format("{}, but others held {} of {} (run it again)", reason, FormatBytes(held.by_others), gpu))
             : Status::Ok();
}

/// Of a run that was refused because of what was free: as for one that the kernel's killer ended (launch/
/// memory_evidence.h), it is the machine's size that forbids it where most of that was free.
Status CheckMostWasFree(const job::RunRecord& record) {
  constexpr double kMostFree = 0.5;
  const auto* need = job::FindEvent<job::MemoryNeed>(record);
  if (need == nullptr || need->free_bytes == 0) {
    return Status::Ok();
  }
  const int64_t needed = need->tensor_bytes + need->mapped_bytes;
  const bool most_was_free =
      static_cast<double>(need->free_bytes) >= kMostFree * static_cast<double>(need->total_bytes);
  if (needed <= need->free_bytes || needed > need->total_bytes || most_was_free) {
    return Status::Ok();
  }
  return Status::Internal(fmt::format("{}, but others held the rest of that (run it again)", record.reason));
}

}  // namespace

Status CheckNeverStoodStill(const job::RunRecord& record) {
  if (record.stood_still_seconds <= 0) {
    return Status::Ok();
  }
  return Status::Internal(
      fmt::format("the run stood still for {} (the worker, assay or the machine was stopped or suspended): its times "
                  "say nothing, run it again",
                  FormatSeconds(record.stood_still_seconds)));
}

Status CheckMemoryWasFree(const job::Plan& plan, const job::RunRecord& record) {
  const bool by_kernel = record.signal != 0;
  ASSAY_RETURN_IF_ERROR(CheckMostWasFree(record));
  if (job::TrainingOf(plan).memory_budget_bytes > 0 || by_kernel) {
    return Status::Ok();
  }
  if (const std::optional<Held> held = HeldAtTheEnd(record.reason)) {
    return CheckShare(*held, record.reason, "this GPU");
  }
  for (const measure::GpuSeries& gpu : measure::FromColumns(record.samples).gpus) {
    ASSAY_RETURN_IF_ERROR(CheckShare(HeldAmongSamples(gpu, record), record.reason, fmt::format("GPU {}", gpu.index)));
  }
  return Status::Ok();
}

std::string DescribeStarvation(const job::RunRecord& record) {
  constexpr double kWorthAMark = 0.1;
  if (record.wall_seconds <= 0 || record.cpu_wait_seconds <= kWorthAMark * record.wall_seconds) {
    return "";
  }
  return fmt::format("waited for a processor for {} of {}", FormatSeconds(record.cpu_wait_seconds),
                     FormatSeconds(record.wall_seconds));
}

}  // namespace assay::explore
