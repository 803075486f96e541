#include "shards/format/field.h"

namespace assay::shards {

std::string_view Field::Describe() const {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
    case Kind::kUnsigned:
    case Kind::kBigInteger:
      return "an integer";
    case Kind::kNumber:
      return "a number with a fraction";
    case Kind::kText:
      return "text";
    case Kind::kBytes:
      return "bytes";
    case Kind::kJson:
      return text.starts_with('[') ? "a list" : "an object";
    case Kind::kArray:
      return "an array";
    case Kind::kList:
      return "a list of files";
  }
  return "nothing";
}

}  // namespace assay::shards
