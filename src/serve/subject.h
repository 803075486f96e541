// What a page is about: the measurements of a space or of an experiment, kept up to date.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "experiment/experiment.h"
#include "experiment/point.h"
#include "report/report_content.h"
#include "samplestore/sample_store.h"

namespace assay::serve {

/// Measurements in memory that grow with the store. Belongs to one thread.
class Subject {
 public:
  virtual ~Subject() = default;

  /// Reads what came since the last call, at first all, up to arrival `newest`. True: something did.
  virtual Result<bool> Refresh(samplestore::SampleStore& store, int64_t newest) = 0;
  /// What a report is made of; valid until the next Refresh.
  virtual report::ReportInput Input() = 0;
};

/// The newest measurements of an experiment: of more than a page draws at once, the description says so.
std::unique_ptr<Subject> OfExperiment(const experiment::Experiment& experiment);

/// As `assay report SPACE.yaml` has it. `space` must outlive the subject.
std::unique_ptr<Subject> OfSpace(const experiment::BoundSpace& space);

/// "space-0123456789abcdef": by what the space asks, whatever its file is called.
std::string SpaceSubjectId(const experiment::BoundSpace& space);
/// The space's name, else its file's.
std::string TitleOf(const experiment::BoundSpace& space);

}  // namespace assay::serve
