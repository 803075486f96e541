#include "checkpoint/value/value_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "checkpoint/pickle/globals.h"
#include "checkpoint/value/flat_state.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

using nlohmann::json;

constexpr std::pair<Value::SequenceKind, const char*> kSequences[] = {
    {Value::SequenceKind::kTuple, "$tuple"},
    {Value::SequenceKind::kSet, "$set"},
    {Value::SequenceKind::kFrozenSet, "$frozenset"},
    {Value::SequenceKind::kSize, "$size"},
};

/// A dict takes three levels of JSON, of which 200 are read (base/json.h).
constexpr int kMostLevels = 60;

Status TooDeep() {
  return Status::Unsupported(fmt::format(
      "values are nested more than {} deep, too deep to be kept as text (--format pt keeps them)", kMostLevels));
}

/// Values without tensors.
class Encoder {
 public:
  explicit Encoder(int level = 0) : level_(level) {}

  Result<json> Run(const Value& value) {
    if (level_ > kMostLevels) {
      return TooDeep();
    }
    ++level_;
    Result<json> encoded = RunWithin(value);
    --level_;
    return encoded;
  }

 private:
  Result<json> RunWithin(const Value& value) {
    if (value.tensor() != nullptr) {
      return Status::Unsupported("a tensor lies where only plain values can be kept (--format pt or ckpt keeps it)");
    }
    if (const Value::Sequence* sequence = value.sequence()) {
      return Encode(*sequence);
    }
    if (const Value::Dict* dict = value.dict()) {
      return Encode(*dict);
    }
    if (const Value::Object* object = value.object()) {
      return Encode(*object);
    }
    return EncodePlain(value);
  }

  static json EncodePlain(const Value& value) {
    if (const auto* truth = value.get<bool>()) {
      return *truth;
    }
    if (const auto* number = value.get<int64_t>()) {
      return *number;
    }
    if (const auto* real = value.get<double>()) {
      return std::isfinite(*real) ? json(*real) : json{{"$float", fmt::format("{}", *real)}};
    }
    if (const auto* text = value.get<std::string>()) {
      return IsUtf8(*text) ? json(*text) : json{{"$text", storage::Base64Encode(*text)}};
    }
    if (const auto* big = value.get<Value::BigInt>()) {
      return {{"$int", storage::Base64Encode(big->bytes)}};
    }
    if (const auto* complex = value.get<std::complex<double>>()) {
      return {{"$complex", {EncodePlain(Value(complex->real())), EncodePlain(Value(complex->imag()))}}};
    }
    if (const auto* bytes = value.get<Value::Bytes>()) {
      return {{bytes->mutable_array ? "$bytearray" : "$bytes", storage::Base64Encode(bytes->bytes)}};
    }
    if (const auto* global = value.get<Value::Global>()) {
      return {{"$global", {global->module, global->name}}};
    }
    return nullptr;
  }

  Result<json> EncodeAll(const std::vector<Value>& values) {
    json items = json::array();
    for (const Value& value : values) {
      ASSAY_ASSIGN_OR_RETURN(json item, Run(value));
      items.push_back(std::move(item));
    }
    return items;
  }
  Result<json> EncodeItems(const std::vector<std::pair<Value, Value>>& pairs) {
    json items = json::array();
    for (const auto& [key, value] : pairs) {
      ASSAY_ASSIGN_OR_RETURN(json key_json, Run(key));
      ASSAY_ASSIGN_OR_RETURN(json value_json, Run(value));
      items.push_back(json::array({std::move(key_json), std::move(value_json)}));
    }
    return items;
  }
  Result<json> Encode(const Value::Sequence& sequence) {
    ASSAY_ASSIGN_OR_RETURN(json items, EncodeAll(sequence.items));
    for (const auto& [kind, name] : kSequences) {
      if (sequence.kind == kind) {
        return json{{name, std::move(items)}};
      }
    }
    return items;
  }
  Result<json> Encode(const Value::Dict& dict) {
    ASSAY_ASSIGN_OR_RETURN(json items, EncodeItems(dict.items));
    json encoded = {{dict.ordered ? "$ordered" : "$dict", std::move(items)}};
    if (dict.attributes != nullptr) {
      ASSAY_ASSIGN_OR_RETURN(encoded["attributes"], Run(*dict.attributes));
    }
    return encoded;
  }
  Result<json> Encode(const Value::Object& object) {
    json encoded = {{"$object", {object.made_by.module, object.made_by.name}}, {"new", object.by_new}};
    ASSAY_ASSIGN_OR_RETURN(encoded["arguments"], EncodeAll(object.arguments));
    ASSAY_ASSIGN_OR_RETURN(encoded["items"], EncodeItems(object.items));
    if (object.state != nullptr) {
      ASSAY_ASSIGN_OR_RETURN(encoded["state"], Run(*object.state));
    }
    return encoded;
  }

  int level_;
};

/// The containers that Flatten() goes through, and its leaves.
class StructureEncoder {
 public:
  explicit StructureEncoder(LeafForm form) : form_(form) {}

  Result<json> Run(const Value& value) {
    if (const auto* items = MappingOf(value)) {
      return EncodeMapping(value, *items);
    }
    if (IsLeaf(value)) {
      const bool by_name = form_ == LeafForm::kNames || value.tensor() != nullptr;
      return by_name ? Result<json>(json{{"$leaf", JoinPath(path_)}}) : Named(Encode(value));
    }
    json items = json::array();
    const std::vector<Value>& values = value.sequence()->items;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSAY_ASSIGN_OR_RETURN(json item, RunAt(static_cast<int64_t>(i), values[i]));
      items.push_back(std::move(item));
    }
    return items;
  }

 private:
  Result<json> Encode(const Value& value) const { return Encoder(static_cast<int>(path_.size())).Run(value); }
  Result<json> Named(Result<json> encoded) const {
    return encoded.ok() ? std::move(encoded) : encoded.status().WithContext(fmt::format("'{}'", JoinPath(path_)));
  }
  Result<json> RunAt(PathStep step, const Value& value) {
    if (path_.size() > kMostLevels) {
      return TooDeep();
    }
    path_.push_back(std::move(step));
    Result<json> encoded = Run(value);
    path_.pop_back();
    return encoded;
  }
  Result<json> EncodeMapping(const Value& value, const std::vector<std::pair<Value, Value>>& items) {
    json pairs = json::array();
    for (const auto& [key, item] : items) {
      ASSAY_ASSIGN_OR_RETURN(json key_json, Encode(key));
      ASSAY_ASSIGN_OR_RETURN(json item_json, RunAt(KeyText(key).value_or(""), item));
      pairs.push_back(json::array({std::move(key_json), std::move(item_json)}));
    }
    if (const Value::Object* object = value.object()) {
      Value::Object bare = *object;
      bare.items.clear();
      ASSAY_ASSIGN_OR_RETURN(json encoded,
                             Named(Encode(Value(std::make_shared<const Value::Object>(std::move(bare))))));
      encoded["items"] = std::move(pairs);
      return encoded;
    }
    const Value::Dict& dict = *value.dict();
    json encoded = {{dict.ordered ? "$ordered" : "$dict", std::move(pairs)}};
    if (dict.attributes != nullptr) {
      ASSAY_ASSIGN_OR_RETURN(encoded["attributes"], Named(Encode(*dict.attributes)));
    }
    return encoded;
  }

  const LeafForm form_;
  std::vector<PathStep> path_;
};

class Decoder {
 public:
  Decoder(const std::map<std::string, Value>& leaves, const std::string& source) : leaves_(leaves), source_(source) {}

  /// Every tensor has its place: another program may have added some and kept the texts.
  Result<Value> RunWhole(const json& encoded) {
    ASSAY_ASSIGN_OR_RETURN(Value root, Run(encoded));
    for (const auto& [name, leaf] : leaves_) {
      if (leaf.tensor() != nullptr && !placed_.contains(name)) {
        return Status::InvalidArgument(
            fmt::format("{}: '{}' has no place in the structure that is kept beside it: another program added it and "
                        "kept the texts (written without 'assay.state' all is read)",
                        source_, name));
      }
    }
    return root;
  }

  Result<Value> Run(const json& encoded) {
    if (depth_ == kMaxValueDepth) {
      return Fail("are nested too deep");
    }
    ++depth_;
    Result<Value> value = encoded.is_array()    ? DecodeList(encoded)
                          : encoded.is_object() ? DecodeObject(encoded)
                                                : DecodePlain(encoded);
    --depth_;
    return value;
  }

 private:
  Status Fail(const std::string& what) const {
    return Status::InvalidArgument(fmt::format("{}: its plain values {}", source_, what));
  }

  Result<Value> DecodePlain(const json& encoded) const {
    switch (encoded.type()) {
      case json::value_t::boolean:
        return Value(encoded.get<bool>());
      case json::value_t::number_unsigned:
        if (encoded.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
          return Fail(fmt::format("have {}, which is no 64-bit number", encoded.get<uint64_t>()));
        }
        return Value(encoded.get<int64_t>());
      case json::value_t::number_integer:
        return Value(encoded.get<int64_t>());
      case json::value_t::number_float:
        return Value(encoded.get<double>());
      case json::value_t::string:
        return Value::Text(encoded.get<std::string>());
      default:
        return Value();
    }
  }

  Result<std::vector<Value>> DecodeAll(const json& encoded) {
    std::vector<Value> items;
    for (const json& item : encoded) {
      ASSAY_ASSIGN_OR_RETURN(Value value, Run(item));
      items.push_back(std::move(value));
    }
    return items;
  }
  Result<Value> DecodeList(const json& encoded) {
    ASSAY_ASSIGN_OR_RETURN(std::vector<Value> items, DecodeAll(encoded));
    return Value::List(std::move(items));
  }
  Result<std::vector<std::pair<Value, Value>>> DecodeItems(const json& encoded) {
    std::vector<std::pair<Value, Value>> items;
    for (const json& pair : encoded) {
      if (!pair.is_array() || pair.size() != 2) {
        return Fail("have an item that is no pair");
      }
      ASSAY_ASSIGN_OR_RETURN(Value key, Run(pair[0]));
      ASSAY_ASSIGN_OR_RETURN(Value value, Run(pair[1]));
      items.emplace_back(std::move(key), std::move(value));
    }
    return items;
  }

  /// The text under `key`, out of base64.
  std::optional<std::string> Binary(const json& encoded, const char* key) const {
    const auto found = encoded.find(key);
    return found == encoded.end() || !found->is_string() ? std::nullopt
                                                         : storage::Base64Decode(found->get<std::string>());
  }
  static std::optional<double> Real(const json& encoded) {
    if (encoded.is_number()) {
      return encoded.get<double>();
    }
    const auto named = encoded.find("$float");
    const std::string text = named != encoded.end() && named->is_string() ? named->get<std::string>() : "";
    return text == "nan"    ? std::optional(std::nan(""))
           : text == "inf"  ? std::optional(HUGE_VAL)
           : text == "-inf" ? std::optional(-HUGE_VAL)
                            : std::nullopt;
  }
  Result<Value::Global> GlobalAt(const json& encoded, const char* key) const {
    const json& names = encoded.at(key);
    if (!names.is_array() || names.size() != 2 || !names[0].is_string() || !names[1].is_string()) {
      return Fail("have a name that is none");
    }
    Value::Global global = {names[0].get<std::string>(), names[1].get<std::string>()};
    if (FindGlobal(StateGlobals(), global.module, global.name) == nullptr) {
      return Fail(
          fmt::format("use '{}.{}', which is not among the names that are allowed", global.module, global.name));
    }
    return global;
  }

  Result<Value> DecodeObject(const json& encoded);
  Result<Value> DecodeContainer(const json& encoded);
  Result<Value> DecodeMade(const json& encoded);

  const std::map<std::string, Value>& leaves_;
  std::set<std::string_view> placed_;
  const std::string& source_;
  int depth_ = 0;
};

Result<Value> Decoder::DecodeObject(const json& encoded) {
  if (const auto leaf = encoded.find("$leaf"); leaf != encoded.end() && leaf->is_string()) {
    const auto found = leaves_.find(leaf->get<std::string>());
    if (found == leaves_.end()) {
      return Fail(fmt::format("name '{}', which is not there", leaf->get<std::string>()));
    }
    placed_.insert(found->first);
    return found->second;
  }
  if (const std::optional<double> real = Real(encoded)) {
    return Value(*real);
  }
  for (const char* key : {"$bytes", "$bytearray", "$int", "$text"}) {
    if (std::optional<std::string> bytes = Binary(encoded, key)) {
      const std::string_view name = key;
      return name == "$int"    ? Value(Value::BigInt{std::move(*bytes)})
             : name == "$text" ? Value::Text(std::move(*bytes))
                               : Value(Value::Bytes{std::move(*bytes), name == "$bytearray"});
    }
  }
  if (const auto parts = encoded.find("$complex"); parts != encoded.end() && parts->is_array() && parts->size() == 2) {
    const std::optional<double> real = Real((*parts)[0]);
    const std::optional<double> imaginary = Real((*parts)[1]);
    return real && imaginary ? Result<Value>(Value(std::complex<double>(*real, *imaginary)))
                             : Fail("have a complex number that is none");
  }
  if (encoded.contains("$global")) {
    ASSAY_ASSIGN_OR_RETURN(Value::Global global, GlobalAt(encoded, "$global"));
    return Value(std::move(global));
  }
  return encoded.contains("$object") ? DecodeMade(encoded) : DecodeContainer(encoded);
}

Result<Value> Decoder::DecodeContainer(const json& encoded) {
  for (const auto& [kind, name] : kSequences) {
    if (const auto items = encoded.find(name); items != encoded.end()) {
      ASSAY_ASSIGN_OR_RETURN(std::vector<Value> values, DecodeAll(*items));
      return Value::Make(kind, std::move(values));
    }
  }
  const bool ordered = encoded.contains("$ordered");
  if (!ordered && !encoded.contains("$dict")) {
    return Fail("have an object of no kind that is known");
  }
  Value::Dict dict;
  dict.ordered = ordered;
  ASSAY_ASSIGN_OR_RETURN(dict.items, DecodeItems(encoded.at(ordered ? "$ordered" : "$dict")));
  if (const auto attributes = encoded.find("attributes"); attributes != encoded.end()) {
    ASSAY_ASSIGN_OR_RETURN(Value value, Run(*attributes));
    dict.attributes = std::make_shared<const Value>(std::move(value));
  }
  return Value(std::make_shared<const Value::Dict>(std::move(dict)));
}

Result<Value> Decoder::DecodeMade(const json& encoded) {
  Value::Object object;
  ASSAY_ASSIGN_OR_RETURN(object.made_by, GlobalAt(encoded, "$object"));
  const auto is_new = encoded.find("new");
  object.by_new = is_new != encoded.end() && is_new->is_boolean() && is_new->get<bool>();
  if (const auto arguments = encoded.find("arguments"); arguments != encoded.end()) {
    ASSAY_ASSIGN_OR_RETURN(object.arguments, DecodeAll(*arguments));
  }
  if (const auto items = encoded.find("items"); items != encoded.end()) {
    ASSAY_ASSIGN_OR_RETURN(object.items, DecodeItems(*items));
  }
  if (const auto state = encoded.find("state"); state != encoded.end()) {
    ASSAY_ASSIGN_OR_RETURN(Value value, Run(*state));
    object.state = std::make_shared<const Value>(std::move(value));
  }
  return Value(std::make_shared<const Value::Object>(std::move(object)));
}

}  // namespace

Result<json> ValueToJson(const Value& value) {
  return Encoder().Run(value);
}

Result<json> StructureToJson(const Value& root, LeafForm form) {
  if (MappingOf(root) == nullptr) {
    const bool by_name = form == LeafForm::kNames || root.tensor() != nullptr;
    return by_name ? Result<json>(json{{"$leaf", kRootLeaf}}) : Encoder().Run(root);
  }
  return StructureEncoder(form).Run(root);
}

Result<Value> ValueFromJson(const json& encoded, const std::map<std::string, Value>& leaves,
                            const std::string& source) {
  return Decoder(leaves, source).RunWhole(encoded);
}

}  // namespace assay::checkpoint
