// What a store has, as the texts that pages ask for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "experiment/point.h"
#include "report/report_form.h"
#include "samplestore/sample_store.h"
#include "serve/model_versions.h"
#include "serve/subject.h"

namespace assay::serve {

/// Opens the store that is served, to be read.
using StoreOpener = std::function<Result<std::unique_ptr<samplestore::SampleStore>>()>;

/// Of a URL: who reads waits neither for a server that went away nor for who locked the file.
StoreOpener OpenerOf(std::string store_url);

/// Follows a store: one that is replaced, locked, damaged, of a newer schema or away is a line for the reader, and is
/// opened again until it can be read. Belongs to one thread.
class Library {
 public:
  /// `spaces` must outlive the library.
  Library(StoreOpener open, std::span<const experiment::BoundSpace> spaces);

  struct State {
    std::string problem;   ///< why the store cannot be read; empty: it can
    std::string contents;  ///< another text when there is something new in the store
    bool operator==(const State&) const = default;
  };
  /// Looks whether something changed. `now`, seconds of the monotonic clock, says whether it is time to count or to
  /// open it again.
  State Look(double now = MonotonicSeconds());

  /// Makes what a page asks for first, so that it is there when one does.
  void Prepare();

  /// Of an exception while it looked: the store is opened and read anew, as after any other error of it.
  void Distrust(std::string problem);
  /// Of an exception while it answered: what was made for pages may be half of it, and is made anew for the next one.
  void Forget() { shelves_.clear(); }

  /// {"subjects": [{"id", "title", "kind", "newest"}]}: spaces that were given, then experiments that the store has
  /// measurements of, the last measured first.
  Result<Text> Subjects();
  /// ModelVersions::Since() of a subject, as the store is now.
  Result<Text> Model(std::string_view subject, std::string_view base);
  Result<Text> Report(std::string_view subject, report::Form form);
  /// report::RunDetails().
  Result<Text> Run(std::string_view uid);

 private:
  struct Shelf {
    std::string id;
    std::unique_ptr<Subject> subject;
    ModelVersions versions;
  };

  /// The store, opened where it is not and the last try was long enough before `now`.
  Result<samplestore::SampleStore*> Open(double now = MonotonicSeconds());
  /// Passes `status` on; after an error of the store it is opened anew.
  Status Checked(Status status);
  Result<nlohmann::json> ListSubjects();
  /// How many there are up to the newest that was read: by an index, where a bound of arrivals would go through all
  /// rows.
  Result<int64_t> CountRead();
  Status Reread();
  /// Counts what came since the newest that was read.
  Status TakeNew();
  Status CheckNothingWasRemoved(double now);
  Result<Shelf*> Find(std::string_view subject);
  Result<std::unique_ptr<Subject>> Make(std::string_view subject) const;

  const StoreOpener open_;
  const std::span<const experiment::BoundSpace> spaces_;
  std::unique_ptr<samplestore::SampleStore> store_;
  std::string problem_;
  int64_t generation_ = 0;  ///< how often what was read was thrown away
  int64_t newest_ = 0;      ///< arrival; nothing is shown that is newer
  int64_t count_ = 0;       ///< of rows up to the newest
  double counted_at_ = 0;
  double counting_seconds_ = 0;
  double opened_at_ = 0;
  std::deque<Shelf> shelves_;  ///< of subjects that were asked for, the last one first
};

}  // namespace assay::serve
