#include "engine/checkpoint/training_saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "checkpoint/copy_checkpoint.h"
#include "engine/checkpoint/holdings.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using checkpoint::RankHoldings;
using checkpoint::SavedFile;
using nlohmann::json;

constexpr std::chrono::milliseconds kPause(20);

/// Parameters of all ranks, each once.
std::vector<std::string> parameters_of(const std::vector<RankHoldings>& ranks) {
  std::set<std::string> names;
  for (const RankHoldings& rank : ranks) {
    for (const checkpoint::HeldTensor& held : rank.tensors) {
      if (held.path.size() == 2) {
        names.insert(std::get<std::string>(held.path[1]));
      }
    }
  }
  return {names.begin(), names.end()};
}

std::string to_text(const std::vector<SavedFile>& files) {
  json list = json::array();
  for (const SavedFile& file : files) {
    list.push_back({{"file", checkpoint::ToJson(file.file)}, {"etag", file.etag}});
  }
  return DumpJson(list);
}

void add_files_from_text(const std::string& text, const std::string& uri, std::vector<SavedFile>& files) {
  for (const json& entry : json::parse(text)) {
    files.push_back({value_or_throw(checkpoint::ManifestFileFromJson(entry.at("file"), uri)), entry.at("etag")});
  }
}

/// Whether a plan that was made for `b` does for `a`.
bool are_alike(const std::vector<checkpoint::HeldValue>& a, const std::vector<checkpoint::HeldValue>& b) {
  return std::ranges::equal(a, b, [](const checkpoint::HeldValue& x, const checkpoint::HeldValue& y) {
    return x.name == y.name && x.bytes == y.bytes;
  });
}

}  // namespace

class TrainingSaver::UnderWay {
  enum class Stage { kBegin, kWrite, kPublish, kCopy, kOver };

 public:
  UnderWay(TrainingSaver& saver, const TrainingState& state, const std::vector<HeldState>& held)
      : saver_(saver), ranks_(saver.ranks_), metrics_(state.metrics) {
    leaves_ = saver_.plan(state, held);
    contents_ = contents_of(saver_.options_.copies ? copy(held) : held, saver_.plan_.ranks[ranks_.rank()]);
    if (ranks_.is_first()) {
      contents_.values = contents_of(leaves_);
    }
    start(state.position.counted);
  }

  /// Of the checkpoint of `step`, which stands in the folder.
  UnderWay(TrainingSaver& saver, int64_t step) : saver_(saver), ranks_(saver.ranks_), stage_(Stage::kCopy) {
    start(step);
  }

  ~UnderWay() {
    work_.reset();
    // A commit leaves nothing when it fails, or all when it may not have.
    if (stage_ == Stage::kWrite && !may_be_published_) {
      checkpoint::Abandon(save_, own_);
    }
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

  bool is_published() const { return stage_ > Stage::kPublish; }
  bool is_over() const { return stage_ == Stage::kOver; }
  const SavedTraining& saved() const { return saved_; }

  void advance(std::chrono::milliseconds pause) {
    if (!is_over() && work_->meet(pause)) {
      end();
      const bool ends = stage_ == Stage::kCopy || (stage_ == Stage::kPublish && saver_.options_.second == nullptr);
      stage_ = ends ? Stage::kOver : static_cast<Stage>(static_cast<int>(stage_) + 1);
      start();
    }
  }

 private:
  /// What this rank writes, and no more.
  std::vector<HeldState> copy(const std::vector<HeldState>& held) {
    return saver_.snapshot_.begin(held, tensors_of(held, saver_.plan_.ranks[ranks_.rank()]));
  }

  void start(int64_t step) {
    save_.place = saver_.folder_.place_of(step);
    saved_.step = step;
    saved_.uri = save_.place.uri();
    start();
  }

  void start() {
    const bool is_beside = !saver_.is_waited_for_;
    switch (stage_) {
      case Stage::kBegin:
        work_ = ranks_.start("begin a save to " + saved_.uri, /*most=*/0, is_beside, [this] { begin(); });
        break;
      case Stage::kWrite:
        work_ = ranks_.start("write its part of " + saved_.uri, most_work_of(checkpoint::BytesOfRanks(saver_.plan_)),
                             is_beside, [this] { write(); });
        break;
      case Stage::kPublish:
        work_ = ranks_.start("publish " + saved_.uri, /*most=*/0, is_beside, [this] { publish(); });
        break;
      case Stage::kCopy:
        work_ = ranks_.start("copy " + saved_.uri + " to " + saver_.options_.second->uri(), /*most=*/0, is_beside,
                             [this] { copy(); });
        break;
      case Stage::kOver:
        work_.reset();
    }
  }

  /// What the ranks tell each other after a stage.
  void end() {
    if (stage_ == Stage::kBegin) {
      const json own = {{"id", save_.id}, {"folder", save_.folder}};
      const json first = json::parse(ranks_.tell(ranks_.is_first() ? DumpJson(own) : "", "the save").front());
      save_.id = first.at("id");
      save_.folder = first.at("folder");
      saver_.await_copy();
    } else if (stage_ == Stage::kWrite) {
      // What this rank says may reach the first one, which publishes it, though telling it ends in an error here.
      may_be_published_ = !ranks_.is_first();
      of_ranks_ = ranks_.tell(to_text(own_), "what all ranks wrote");
    }
  }

  bool may_replace() const { return saver_.options_.replaced_steps.contains(saved_.step); }
  /// What has the highest steps, and is none that a run could go on from.
  std::set<int64_t> damaged_later() const {
    const std::set<int64_t>& all = saver_.options_.replaced_steps;
    return {all.upper_bound(saved_.step), all.end()};
  }

  /// The first rank looks at the place; the others take its save, of which they need the names alone.
  void begin() {
    if (ranks_.is_first()) {
      const bool is_spread = saver_.options_.layout.prefix.strategy != checkpoint::PrefixStrategy::kDefault;
      save_ = value_or_throw(checkpoint::BeginSave(
          save_.place, checkpoint::Format::kDcp, checkpoint::kDcpMetadataName,
          {.overwrite = may_replace(), .is_spread = is_spread, .step = saved_.step, .metrics = metrics_}));
    }
  }

  void write() {
    const RankHoldings& holdings = saver_.holdings_[ranks_.rank()];
    std::vector<checkpoint::FileToSave> files;
    for (const checkpoint::PlannedFile& file : saver_.plan_.ranks[ranks_.rank()]) {
      files.push_back({save_.folder + file.name, [&] { return checkpoint::LayOutFile(file, holdings, contents_); }});
    }
    own_ = value_or_throw(checkpoint::WriteAllSaved(save_, files));
  }

  void publish() {
    if (!ranks_.is_first()) {
      return;
    }
    std::vector<SavedFile> files;
    for (const std::string& text : of_ranks_) {
      add_files_from_text(text, saved_.uri, files);
    }
    checkpoint::FileLayout pointer;
    pointer.AddText(
        checkpoint::WriteDcpMetadata(checkpoint::MetadataOfSave(saver_.plan_, save_.folder, save_.id, saved_.uri)));
    saved_.bytes = value_or_throw(checkpoint::CommitSave(save_, files, std::move(pointer))).bytes();
    saved_.seconds = MonotonicSeconds() - start_;  // old ones go afterwards
    saver_.folder_.keep(saver_.options_.keep, damaged_later());
  }

  void copy() {
    if (!ranks_.is_first()) {
      return;
    }
    const RunFolder& second = *saver_.options_.second;
    const auto found = value_or_throw(checkpoint::FindCheckpoint(save_.place));
    if (!found) {
      throw StatusError(Status::NotFound(saved_.uri + " was removed before it was copied to " + second.uri()));
    }
    const checkpoint::Place to = second.place_of(saved_.step);
    saved_.bytes = value_or_throw(checkpoint::CopyCheckpoint(*found, to, {.overwrite = may_replace()})).bytes();
    saved_.second_seconds = MonotonicSeconds() - start_;
    second.keep(saver_.options_.keep, damaged_later());
  }

  TrainingSaver& saver_;
  const CheckpointRanks& ranks_;
  const double start_ = MonotonicSeconds();
  std::map<std::string, double> metrics_;
  std::vector<checkpoint::Leaf> leaves_;  ///< the values that the first rank writes
  checkpoint::RankContents contents_;
  checkpoint::Save save_;
  std::vector<SavedFile> own_;
  bool may_be_published_ = false;
  std::vector<std::string> of_ranks_;  ///< the files of each rank
  SavedTraining saved_;
  Stage stage_ = Stage::kBegin;
  std::unique_ptr<WorkTogether> work_;  ///< of the stage; goes first, since it uses the others
};

TrainingSaver::TrainingSaver(const RunFolder& folder, CheckpointRanks ranks, TrainingSaverOptions options)
    : folder_(folder), ranks_(std::move(ranks)), options_(std::move(options)) {}

TrainingSaver::~TrainingSaver() = default;

/// Every rank makes the same plan of the same holdings; from one save to the next they are mostly as they were.
std::vector<checkpoint::Leaf> TrainingSaver::plan(const TrainingState& state, const std::vector<HeldState>& held) {
  std::vector<std::string> of_ranks = ranks_.tell(to_text(holdings_of(held)), "what all ranks hold");
  // Where this throws there is no plan.
  const std::vector<std::string> planned_for = std::exchange(planned_for_, {});
  const bool is_known = of_ranks == planned_for;
  if (!is_known) {
    holdings_.clear();
    std::ranges::transform(of_ranks, std::back_inserter(holdings_), holdings_from_text);
  }
  std::vector<checkpoint::Leaf> leaves = leaves_of(state, parameters_of(holdings_));
  std::vector<checkpoint::HeldValue> values = held_values(leaves);
  std::vector<checkpoint::HeldValue>& planned_values = holdings_.front().values;
  if (!is_known || !are_alike(values, planned_values)) {
    planned_values = std::move(values);
    plan_ = value_or_throw(checkpoint::PlanSave(holdings_, options_.layout));
  }
  planned_for_ = std::move(of_ranks);
  return leaves;
}

void TrainingSaver::prepare(const TrainingState& state, std::vector<HeldState> held) {
  int64_t updates = 1;  // else it would have no moments
  for (HeldState& entry : held) {
    entry.steps = entry.steps == nullptr ? nullptr : &updates;
  }
  plan(state, held);
  snapshot_.take_memory(held, tensors_of(held, plan_.ranks[ranks_.rank()]));
}

void TrainingSaver::begin(const TrainingState& state, const std::vector<HeldState>& held) {
  is_waited_for_ = false;
  under_way_ = std::make_unique<UnderWay>(*this, state, held);
}

void TrainingSaver::begin_copy(int64_t step) {
  is_waited_for_ = false;
  under_way_ = std::make_unique<UnderWay>(*this, step);
}

void TrainingSaver::bring_on(std::chrono::milliseconds pause) {
  try {
    under_way_->advance(pause);
  } catch (...) {
    under_way_.reset();
    throw;
  }
}

std::optional<SavedTraining> TrainingSaver::advance() {
  bring_on(std::chrono::milliseconds(0));
  if (!under_way_->is_over()) {
    return std::nullopt;
  }
  SavedTraining saved = under_way_->saved();
  under_way_.reset();
  return saved;
}

void TrainingSaver::publish() {
  is_waited_for_ = true;
  while (!under_way_->is_published()) {
    bring_on(kPause);
  }
  is_waited_for_ = false;
}

SavedTraining TrainingSaver::finish() {
  is_waited_for_ = true;
  while (!under_way_->is_over()) {
    bring_on(kPause);
  }
  return *advance();
}

}  // namespace assay::engine
