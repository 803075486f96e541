#include "serve/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "experiment/catalogue.h"
#include "report/model/report_model.h"
#include "report/model/run_details.h"

namespace assay::serve {
namespace {

using nlohmann::json;
using samplestore::SampleStore;

constexpr size_t kMostShelves = 4;
constexpr int64_t kMostNewRows = 10'000;  ///< that are told at once; the next look tells of others
constexpr double kReopenSeconds = 1;
constexpr double kCountEverySeconds = 5;
constexpr double kCountingShare = 500;  ///< counting takes one part in so many of the time

/// Values and series of runs are asked for one by one.
constexpr report::ModelLimits kServedLimits = {.run_values = 0, .series_points = 0, .lane_values = 0};

Text Share(const json& value) {
  return std::make_shared<const std::string>(DumpJson(value) + "\n");
}

/// When the newest measurement of a filter was made; empty where there is none.
Result<std::string> NewestAt(SampleStore& store, samplestore::MeasurementFilter filter) {
  filter.newest_first = true;
  filter.limit = 1;
  ASSAY_ASSIGN_OR_RETURN(const auto rows, store.ListRows(filter, {}));
  return rows.empty() ? "" : rows.front().measured_at;
}

json Entry(std::string_view id, std::string_view title, std::string_view kind, std::string_view newest) {
  return {{"id", id}, {"title", title}, {"kind", kind}, {"newest", newest}};
}

}  // namespace

StoreOpener OpenerOf(std::string store_url) {
  constexpr double kLongestWaitSeconds = 2;
  return [url = std::move(store_url)] {
    return samplestore::OpenStore(
        url, samplestore::StoreAccess::kReadOnly,
        {.longest_outage_seconds = kLongestWaitSeconds, .longest_lock_seconds = kLongestWaitSeconds});
  };
}

Library::Library(StoreOpener open, std::span<const experiment::BoundSpace> spaces)
    : open_(std::move(open)), spaces_(spaces) {}

Result<SampleStore*> Library::Open(double now) {
  if (store_) {
    return store_.get();
  }
  if (!problem_.empty() && now - opened_at_ < kReopenSeconds) {
    return Status::Io(problem_);
  }
  opened_at_ = now;
  auto opened = open_();
  if (!opened.ok()) {
    return Checked(opened.status());
  }
  store_ = *std::move(opened);
  if (const Status status = Reread(); !status.ok()) {
    return Checked(status);
  }
  problem_.clear();
  return store_.get();
}

Status Library::Checked(Status status) {
  if (status.ok()) {
    return status;
  }
  problem_ = OneLine(status.message());
  store_.reset();
  opened_at_ = MonotonicSeconds();
  return Status(status.code(), problem_);
}

void Library::Distrust(std::string problem) {
  static_cast<void>(Checked(Status::Internal(std::move(problem))));
}

Status Library::Reread() {
  ++generation_;
  shelves_.clear();
  ASSAY_ASSIGN_OR_RETURN(const auto rows, store_->ListRows({.settled = true, .newest_first = true, .limit = 1}, {}));
  newest_ = rows.empty() ? 0 : rows.front().arrival;
  ASSAY_ASSIGN_OR_RETURN(count_, CountRead());
  return Status::Ok();
}

Status Library::TakeNew() {
  ASSAY_ASSIGN_OR_RETURN(const auto rows,
                         store_->ListRows({.after = newest_, .settled = true, .limit = kMostNewRows}, {}));
  count_ += std::ssize(rows);
  newest_ = rows.empty() ? newest_ : rows.back().arrival;
  return Status::Ok();
}

Result<int64_t> Library::CountRead() {
  constexpr int kTries = 5;
  const double start = MonotonicSeconds();
  int64_t read = 0;
  for (int i = 0; i < kTries; ++i) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t newer, store_->Count({.after = newest_}));
    ASSAY_ASSIGN_OR_RETURN(const int64_t all, store_->Count({.settled = true}));
    ASSAY_ASSIGN_OR_RETURN(const int64_t newer_now, store_->Count({.after = newest_}));
    read = all - newer_now;
    if (newer == newer_now) {
      break;  // nothing came in between
    }
  }
  counted_at_ = MonotonicSeconds();
  counting_seconds_ = counted_at_ - start;
  return read;
}

Status Library::CheckNothingWasRemoved(double now) {
  if (now - counted_at_ < std::max(kCountEverySeconds, kCountingShare * counting_seconds_)) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t count, CountRead());
  if (count == count_) {
    return Status::Ok();
  }
  // What its terms are called is read anew too: it may be an older copy of itself.
  store_.reset();
  return Open(now).status();
}

Library::State Library::Look(double now) {
  const auto look = [&]() -> Status {
    const bool was_open = store_ != nullptr;
    ASSAY_RETURN_IF_ERROR(Open(now).status());
    if (!was_open) {
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR(store_->CheckSame());
    ASSAY_RETURN_IF_ERROR(TakeNew());
    return CheckNothingWasRemoved(now);
  };
  if (const Status status = look(); !status.ok() && store_) {
    static_cast<void>(Checked(status));
  }
  return {.problem = problem_, .contents = fmt::format("{}.{}", generation_, newest_)};
}

void Library::Prepare() {
  const Result<json> subjects = ListSubjects();
  if (subjects.ok() && !subjects->empty()) {
    static_cast<void>(Find(subjects->front().at("id").get<std::string>()));
  }
}

Result<Text> Library::Subjects() {
  ASSAY_ASSIGN_OR_RETURN(json list, ListSubjects());
  return Share({{"subjects", std::move(list)}});
}

Result<json> Library::ListSubjects() {
  ASSAY_ASSIGN_OR_RETURN(SampleStore* const store, Open());
  json list = json::array();
  for (const experiment::BoundSpace& space : spaces_) {
    list.push_back(Entry(SpaceSubjectId(space), TitleOf(space), "space", ""));
  }
  std::vector<std::pair<std::string, const experiment::Experiment*>> measured;
  for (const experiment::Experiment* experiment : experiment::AllExperiments()) {
    Result<std::string> newest = NewestAt(*store, {.experiment = std::string(experiment->id())});
    if (!newest.ok()) {
      return Checked(newest.status());
    }
    if (!newest->empty()) {
      measured.emplace_back(*std::move(newest), experiment);
    }
  }
  std::ranges::stable_sort(measured, std::greater(), [](const auto& entry) { return entry.first; });
  for (const auto& [newest, experiment] : measured) {
    list.push_back(Entry(experiment->id(), experiment->id(), "experiment", newest));
  }
  return list;
}

Result<std::unique_ptr<Subject>> Library::Make(std::string_view subject) const {
  for (const experiment::BoundSpace& space : spaces_) {
    if (SpaceSubjectId(space) == subject) {
      return OfSpace(space);
    }
  }
  for (const experiment::Experiment* experiment : experiment::AllExperiments()) {
    if (experiment->id() == subject) {
      return OfExperiment(*experiment);
    }
  }
  return Status::NotFound("nothing of that name is served here");
}

Result<Library::Shelf*> Library::Find(std::string_view subject) {
  ASSAY_ASSIGN_OR_RETURN(SampleStore* const store, Open());
  auto shelf = std::ranges::find(shelves_, subject, &Shelf::id);
  if (shelf == shelves_.end()) {
    ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Subject> made, Make(subject));
    shelves_.push_front({.id = std::string(subject), .subject = std::move(made), .versions = {}});
    if (shelves_.size() > kMostShelves) {
      shelves_.pop_back();
    }
    shelf = shelves_.begin();
  }
  const auto refresh = [&]() -> Result<bool> {
    ASSAY_RETURN_IF_ERROR(TakeNew());
    return shelf->subject->Refresh(*store, newest_);
  };
  const Result<bool> changed = refresh();
  if (!changed.ok()) {
    shelves_.erase(shelf);
    return Checked(changed.status());
  }
  if (*changed || shelf->versions.empty()) {
    const report::ReportInput input = shelf->subject->Input();
    shelf->versions.Set(report::ReportModel(report::ReportContent(input), kServedLimits));
  }
  return &*shelf;
}

Result<Text> Library::Model(std::string_view subject, std::string_view base) {
  ASSAY_ASSIGN_OR_RETURN(Shelf* const shelf, Find(subject));
  return shelf->versions.Since(base);
}

Result<Text> Library::Report(std::string_view subject, report::Form form) {
  ASSAY_ASSIGN_OR_RETURN(Shelf* const shelf, Find(subject));
  return std::make_shared<const std::string>(report::RenderReport(shelf->subject->Input(), form));
}

Result<Text> Library::Run(std::string_view uid) {
  ASSAY_ASSIGN_OR_RETURN(SampleStore* const store, Open());
  auto found = store->List({.uid = std::string(uid), .limit = 1}, /*with_series=*/true);
  if (!found.ok()) {
    return Checked(found.status());
  }
  if (uid.empty() || found->empty()) {
    return Status::NotFound("the store has no run of that name");
  }
  return Share(report::RunDetails(found->front()));
}

}  // namespace assay::serve
