// The rows of a Parquet file, read by pyarrow in a process of its own (share/parquet/read_rows.py).
//
// Process and program talk over a socket. The process sends messages: an int64, the bytes of what follows, then a JSON
// object, which is one of
//   {"offset", "bytes"}   asks for a range of the file: the answer is these bytes, nothing else
//   {"rows": n, "names", "source_bytes", "columns": [{"name", "holds", "dtype", "shape", "sizes": [3]}]}
//                         a batch: behind it, column by column, `sizes` bytes of what column_batch.h says; no rows: all
//                         were sent
//   {"error"}, {"lacks"}  why there are no more; what is not installed
// The file is read in ranges, so that it may lie in any store.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "base/subprocess.h"
#include "shards/convert/parquet/column_batch.h"
#include "shards/convert/sources.h"
#include "shards/format/encoding.h"
#include "storage/transfers.h"

namespace assay::shards {

/// Belongs to one thread. The process ends with it.
class ParquetStream {
 public:
  /// Starts the process. Of `columns` alone, with what they are to hold where a column can be read in two ways; none:
  /// all. `source` and `transfers` must outlive it.
  static Result<ParquetStream> Open(const SourceFile& source, storage::Transfers& transfers, int64_t row,
                                    std::span<const Column> columns);

  /// Null at the end. InvalidArgument where the file is damaged, or a column has a type that no encoding holds;
  /// FailedPrecondition where there is no pyarrow.
  Result<std::shared_ptr<const ColumnBatch>> Next();

 private:
  ParquetStream(const SourceFile& source, storage::Transfers& transfers, Subprocess process)
      : source_(&source), transfers_(&transfers), process_(std::move(process)) {}
  Status ReadExactly(std::span<std::byte> memory);
  Status Answer(int64_t offset, int64_t bytes);
  Status WhyItEnded();

  const SourceFile* source_;
  storage::Transfers* transfers_;
  Subprocess process_;
};

}  // namespace assay::shards
