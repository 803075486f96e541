// What the steps of a connector test do with a data set before anything is trained.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "job/connector_plan.h"
#include "shards/convert/convert.h"
#include "shards/dataset/dataset.h"
#include "storage/transfer/observer.h"

namespace assay::engine {

/// A folder or a bucket's prefix, whose requests `observer` sees where it is not null. Throws StatusError, as all
/// below.
shards::DatasetPlace open_place(const std::string& uri, std::shared_ptr<storage::RequestObserver> observer = nullptr);

/// Of plan.rows_file, whole shards compressed as `compression` says.
shards::ConvertReport convert_rows(const job::ConnectorPlan& plan, const shards::DatasetPlace& place,
                                   const std::string& compression);

struct Counted {
  int64_t objects = 0;
  int64_t bytes = 0;
};
/// By listing all that is below.
Counted count_objects(const shards::DatasetPlace& place);

struct Streamed {
  int64_t samples = 0;
  int64_t bytes = 0;         ///< of their values
  int64_t digest = 0;        ///< of their rows: job/row_digest.h
  double first_seconds = 0;  ///< until the first batch was there
  double wait_seconds = 0;
};
/// A shuffled pass over all of it, every value decoded. `cache` keeps shards where it is not empty.
Streamed stream_all(const job::ConnectorPlan& plan, const shards::DatasetPlace& place, const std::string& cache);

/// All of it as files below `folder`.
void copy_to_folder(const shards::DatasetPlace& place, const std::string& folder);

/// All that is below.
void remove_all(const shards::DatasetPlace& place);

}  // namespace assay::engine
