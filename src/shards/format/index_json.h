// The JSON of indexes: reading fields with errors that name their place, for index.cc and litdata_index.cc.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "shards/format/index.h"

namespace assay::shards {

/// A field of an index; `where` begins its errors: "index.json: shard 3".
class IndexField {
 public:
  using Element = simdjson::dom::element;

  IndexField(std::string where, Element element) : where_(std::move(where)), element_(element) {}

  Status Error(std::string_view what) const;
  /// The field `name`; an error where there is none.
  Result<IndexField> At(std::string_view name) const;
  /// Whether there is one that is not null.
  bool Has(std::string_view name) const;

  Result<std::string> Text(std::string_view name) const;
  /// Empty where it is null.
  Result<std::string> TextOrNull(std::string_view name) const;
  /// 0 and more.
  Result<int64_t> Count(std::string_view name) const;
  /// Likewise of samples: no more than the 32 bits of a shard's head hold.
  Result<int64_t> Samples(std::string_view name) const;
  Result<simdjson::dom::array> List(std::string_view name) const;
  Result<simdjson::dom::object> Object(std::string_view name) const;
  Result<std::vector<std::string>> Texts(std::string_view name) const;

  const Element& element() const { return element_; }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
  Element element_;
};

/// index.cc tells which it is; this reads litdata's.
Result<DatasetIndex> ReadLitdataIndex(const IndexField& index);

}  // namespace assay::shards
