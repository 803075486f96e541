#include "checkpoint/pickle/value_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "checkpoint/value/encodings.h"

namespace assay::checkpoint {
namespace {

using Node = PickleNode;
using Kind = PickleNode::Kind;

/// Values there may be if all that is shared were written out.
constexpr uint64_t kMostValues = uint64_t{64} << 20;
/// Bytes of texts, bytes and large ints there may be more than in the pickle itself if all that is shared were written
/// out: each Value has its own.
constexpr uint64_t kMostSharedBytes = uint64_t{256} << 20;
/// Nodes within nodes; a tensor takes three.
constexpr int kMostNodeDepth = 2 * kMaxValueDepth;

bool Is(const Node& node, std::string_view module, std::string_view name) {
  return node.kind == Kind::kObject && node.callee->global->module == module && node.callee->global->name == name;
}

Value::Global GlobalOf(const GlobalName& name) {
  return {std::string(name.module), std::string(name.name)};
}

class ValueBuilder {
 public:
  ValueBuilder(const OpenStorage& open_storage, const std::string& source)
      : open_storage_(open_storage), source_(source) {}

  Result<Value> Build(const Node& node);

 private:
  struct Built {
    bool done = false;
    Value value{};
    uint64_t values = 0;  ///< it is, written out
    uint64_t bytes = 0;   ///< of its texts, likewise
  };
  using Special = Result<Value> (ValueBuilder::*)(const Node&, const std::vector<Value>&);
  struct SpecialRow {
    std::string_view module;
    std::string_view name;
    Special make;
  };
  static const SpecialRow kSpecials[];

  Status Fail(const std::string& what) const { return Status::InvalidArgument(fmt::format("{}: {}", source_, what)); }

  Result<Value> BuildKnown(const Built& known);
  Status CheckBounds() const;
  Result<Value> BuildNew(const Node& node);
  Result<Value> BuildSequence(const Node& node);
  Result<std::vector<Value>> BuildAll(const std::vector<Node*>& nodes);
  Result<std::vector<std::pair<Value, Value>>> BuildItems(const std::vector<Node*>& nodes);
  Result<Value> BuildObject(const Node& node);

  // Objects that have a value of their own.
  Result<Value> OrderedDict(const Node& node, const std::vector<Value>& arguments);
  Result<Value> Set(const Node& node, const std::vector<Value>& arguments);
  Result<Value> ByteArray(const Node& node, const std::vector<Value>& arguments);
  Result<Value> EmptyBytes(const Node& node, const std::vector<Value>& arguments);
  Result<Value> Encode(const Node& node, const std::vector<Value>& arguments);
  Result<Value> Complex(const Node& node, const std::vector<Value>& arguments);
  Result<Value> Size(const Node& node, const std::vector<Value>& arguments);
  Result<Value> Parameter(const Node& node, const std::vector<Value>& arguments);

  // Tensors, whose first argument is a storage.
  static bool IsTensor(const Node& node);
  Result<Value> BuildTensor(const Node& node);
  Result<std::pair<std::shared_ptr<const Storage>, DType>> StorageOf(const Node& node);
  Result<StorageName> ReadStorageName(const Node& id) const;
  Result<Sizes> ReadSizes(const Node& node);
  Status FinishTensor(const Node& node, const std::vector<Node*>& arguments, Tensor& tensor);

  const OpenStorage& open_storage_;
  const std::string& source_;
  std::unordered_map<const Node*, Built> built_;
  uint64_t values_ = 0;        ///< that were built while the present node is, written out
  uint64_t bytes_ = 0;         ///< of texts, likewise
  uint64_t shared_bytes_ = 0;  ///< those of them that the pickle has once
  int depth_ = 0;
};

const ValueBuilder::SpecialRow ValueBuilder::kSpecials[] = {
    {"collections", "OrderedDict", &ValueBuilder::OrderedDict},
    {"builtins", "set", &ValueBuilder::Set},
    {"builtins", "frozenset", &ValueBuilder::Set},
    {"builtins", "bytearray", &ValueBuilder::ByteArray},
    {"builtins", "bytes", &ValueBuilder::EmptyBytes},
    {"builtins", "complex", &ValueBuilder::Complex},
    {"_codecs", "encode", &ValueBuilder::Encode},
    {"torch", "Size", &ValueBuilder::Size},
    {"torch._utils", "_rebuild_parameter", &ValueBuilder::Parameter},
};

Result<Value> ValueBuilder::Build(const Node& node) {
  const auto [known, is_new] = built_.try_emplace(&node);
  if (!is_new) {
    if (!known->second.done) {
      return Fail("its pickle holds an object that holds itself, which no checkpoint needs");
    }
    return BuildKnown(known->second);
  }
  if (depth_ == kMostNodeDepth) {
    return Fail(fmt::format("its pickle is nested more than {} deep", kMaxValueDepth));
  }
  ++depth_;
  const uint64_t values_before = values_;
  const uint64_t bytes_before = bytes_;
  ASSAY_ASSIGN_OR_RETURN(Value value, BuildNew(node));
  --depth_;
  ++values_;
  bytes_ += node.text.size();
  ASSAY_RETURN_IF_ERROR(CheckBounds());
  built_[&node] = {true, value, values_ - values_before, bytes_ - bytes_before};
  return value;
}

/// What the memo brings again.
Result<Value> ValueBuilder::BuildKnown(const Built& known) {
  values_ += known.values;
  bytes_ += known.bytes;
  shared_bytes_ += known.bytes;
  ASSAY_RETURN_IF_ERROR(CheckBounds());
  return known.value;
}

Status ValueBuilder::CheckBounds() const {
  return values_ > kMostValues || shared_bytes_ > kMostSharedBytes
             ? Fail("its pickle would be beyond measure if it were written out: a pickle bomb")
             : Status::Ok();
}

Result<Value> ValueBuilder::BuildNew(const Node& node) {
  switch (node.kind) {
    case Kind::kNone:
      return Value();
    case Kind::kBool:
      return Value(node.truth);
    case Kind::kInt:
      return Value(node.integer);
    case Kind::kBigInt:
      return Value(Value::BigInt{std::string(node.text)});
    case Kind::kFloat:
      return Value(node.real);
    case Kind::kText:
      return Value::Text(std::string(node.text));
    case Kind::kBytes:
    case Kind::kByteArray:
      return Value(Value::Bytes{std::string(node.text), node.kind == Kind::kByteArray});
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kSet:
    case Kind::kFrozenSet:
      return BuildSequence(node);
    case Kind::kDict: {
      ASSAY_ASSIGN_OR_RETURN(auto items, BuildItems(node.items));
      return Value::MakeDict(std::move(items));
    }
    case Kind::kGlobal:
      return Value(GlobalOf(*node.global));
    case Kind::kObject:
      return IsTensor(node) ? BuildTensor(node) : BuildObject(node);
    case Kind::kPersistent:
      return Fail("its pickle holds a storage outside a tensor, which is not supported");
  }
  return Value();
}

Result<Value> ValueBuilder::BuildSequence(const Node& node) {
  using SequenceKind = Value::SequenceKind;
  ASSAY_ASSIGN_OR_RETURN(std::vector<Value> items, BuildAll(node.items));
  const SequenceKind kind = node.kind == Kind::kList    ? SequenceKind::kList
                            : node.kind == Kind::kTuple ? SequenceKind::kTuple
                            : node.kind == Kind::kSet   ? SequenceKind::kSet
                                                        : SequenceKind::kFrozenSet;
  return Value::Make(kind, std::move(items));
}

Result<std::vector<Value>> ValueBuilder::BuildAll(const std::vector<Node*>& nodes) {
  std::vector<Value> values;
  values.reserve(nodes.size());
  for (const Node* node : nodes) {
    ASSAY_ASSIGN_OR_RETURN(Value value, Build(*node));
    values.push_back(std::move(value));
  }
  return values;
}

/// Of equal keys the last value counts, in the place of the first, as in a dict.
Result<std::vector<std::pair<Value, Value>>> ValueBuilder::BuildItems(const std::vector<Node*>& nodes) {
  std::vector<std::pair<Value, Value>> items;
  std::unordered_map<std::string, size_t> texts;
  std::unordered_map<int64_t, size_t> numbers;
  for (size_t i = 0; i + 1 < nodes.size(); i += 2) {
    ASSAY_ASSIGN_OR_RETURN(Value key, Build(*nodes[i]));
    ASSAY_ASSIGN_OR_RETURN(Value value, Build(*nodes[i + 1]));
    size_t place = items.size();
    if (const auto* text = key.get<std::string>()) {
      place = texts.try_emplace(*text, place).first->second;
    } else if (const auto* number = key.get<int64_t>()) {
      place = numbers.try_emplace(*number, place).first->second;
    }
    if (place < items.size()) {
      items[place].second = std::move(value);
    } else {
      items.emplace_back(std::move(key), std::move(value));
    }
  }
  return items;
}

Result<Value> ValueBuilder::BuildObject(const Node& node) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<Value> arguments, BuildAll(node.arguments->items));
  for (const SpecialRow& row : kSpecials) {
    if (Is(node, row.module, row.name)) {
      return (this->*row.make)(node, arguments);
    }
  }
  Value::Object object = {.made_by = GlobalOf(*node.callee->global), .by_new = node.truth};
  object.arguments = std::move(arguments);
  ASSAY_ASSIGN_OR_RETURN(object.items, BuildItems(node.items));
  if (node.state != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(Value state, Build(*node.state));
    object.state = std::make_shared<const Value>(std::move(state));
  }
  return Value(std::make_shared<const Value::Object>(std::move(object)));
}

Result<Value> ValueBuilder::OrderedDict(const Node& node, const std::vector<Value>& arguments) {
  Value::Dict dict;
  dict.ordered = true;
  if (!arguments.empty()) {  // of protocols 0 and 1: a list of pairs
    const Value::Sequence* pairs = arguments.front().sequence();
    for (const Value& pair : pairs == nullptr ? std::vector<Value>() : pairs->items) {
      const Value::Sequence* both = pair.sequence();
      if (both == nullptr || both->items.size() != 2) {
        return Fail("its pickle makes an OrderedDict of what are no pairs");
      }
      dict.items.emplace_back(both->items[0], both->items[1]);
    }
  }
  ASSAY_ASSIGN_OR_RETURN(auto items, BuildItems(node.items));
  dict.items.insert(dict.items.end(), items.begin(), items.end());
  if (node.state != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(Value attributes, Build(*node.state));
    dict.attributes = std::make_shared<const Value>(std::move(attributes));
  }
  return Value(std::make_shared<const Value::Dict>(std::move(dict)));
}

Result<Value> ValueBuilder::Set(const Node& node, const std::vector<Value>& arguments) {
  const Value::Sequence* items = arguments.size() == 1 ? arguments.front().sequence() : nullptr;
  if (items == nullptr && !arguments.empty()) {
    return Fail("its pickle makes a set of what is no list");
  }
  return Value::Make(node.callee->global->name == "set" ? Value::SequenceKind::kSet : Value::SequenceKind::kFrozenSet,
                     items == nullptr ? std::vector<Value>() : items->items);
}

Result<Value> ValueBuilder::ByteArray(const Node& node, const std::vector<Value>& arguments) {
  const auto* bytes = arguments.size() == 1 ? arguments.front().get<Value::Bytes>() : nullptr;
  if (bytes == nullptr && !arguments.empty()) {
    return Fail("its pickle makes a bytearray of what are no bytes");
  }
  return Value(Value::Bytes{bytes == nullptr ? std::string() : bytes->bytes, /*mutable_array=*/true});
}

Result<Value> ValueBuilder::EmptyBytes(const Node& node, const std::vector<Value>& arguments) {
  return arguments.empty() ? Result<Value>(Value(Value::Bytes{}))
                           : Fail("its pickle makes bytes in a way that is not supported");
}

Result<Value> ValueBuilder::Encode(const Node& node, const std::vector<Value>& arguments) {
  const auto* text = arguments.size() == 2 ? arguments[0].get<std::string>() : nullptr;
  const auto* encoding = arguments.size() == 2 ? arguments[1].get<std::string>() : nullptr;
  std::optional<std::string> bytes;
  if (text != nullptr && encoding != nullptr && *encoding == "latin1") {
    bytes = Utf8ToLatin1(*text);
  }
  return bytes ? Result<Value>(Value(Value::Bytes{std::move(*bytes)}))
               : Fail("its pickle encodes a text in a way that is not supported");
}

Result<Value> ValueBuilder::Complex(const Node& node, const std::vector<Value>& arguments) {
  const auto* real = arguments.size() == 2 ? arguments[0].get<double>() : nullptr;
  const auto* imaginary = arguments.size() == 2 ? arguments[1].get<double>() : nullptr;
  return real != nullptr && imaginary != nullptr ? Result<Value>(Value(std::complex<double>(*real, *imaginary)))
                                                 : Fail("its pickle makes a complex number of what is none");
}

Result<Value> ValueBuilder::Size(const Node& node, const std::vector<Value>& arguments) {
  const Value::Sequence* sizes = arguments.size() == 1 ? arguments.front().sequence() : nullptr;
  const auto is_int = [](const Value& item) { return item.get<int64_t>() != nullptr; };
  return sizes != nullptr && std::ranges::all_of(sizes->items, is_int)
             ? Result<Value>(Value::Make(Value::SequenceKind::kSize, sizes->items))
             : Fail("its pickle makes a torch.Size of what are no numbers");
}

Result<Value> ValueBuilder::Parameter(const Node& node, const std::vector<Value>& arguments) {
  const auto tensor = arguments.empty() ? nullptr : arguments.front().tensor();
  if (tensor == nullptr) {
    return Fail("its pickle makes a parameter of what is no tensor");
  }
  Tensor parameter = *tensor;
  parameter.is_parameter = true;
  const bool* requires_grad = arguments.size() > 1 ? arguments[1].get<bool>() : nullptr;
  parameter.requires_grad = requires_grad == nullptr || *requires_grad;
  return Value(std::make_shared<const Tensor>(std::move(parameter)));
}

bool ValueBuilder::IsTensor(const Node& node) {
  return Is(node, "torch._utils", "_rebuild_tensor") || Is(node, "torch._utils", "_rebuild_tensor_v2") ||
         Is(node, "torch._utils", "_rebuild_tensor_v3") || Is(node, "torch._utils", "_rebuild_qtensor");
}

Result<Value> ValueBuilder::BuildTensor(const Node& node) {
  const std::vector<Node*>& arguments = node.arguments->items;
  if (arguments.size() < 4 || arguments[1]->kind != Kind::kInt) {
    return Fail("its pickle rebuilds a tensor without storage, offset, size and strides");
  }
  ASSAY_ASSIGN_OR_RETURN(const auto storage, StorageOf(*arguments[0]));
  Tensor tensor;
  tensor.dtype = storage.second;
  ASSAY_ASSIGN_OR_RETURN(tensor.shape, ReadSizes(*arguments[2]));
  Block block = {.storage = storage.first, .storage_offset = arguments[1]->integer};
  ASSAY_ASSIGN_OR_RETURN(block.strides, ReadSizes(*arguments[3]));
  block.box = WholeOf(tensor.shape);
  tensor.blocks.push_back(std::move(block));
  ASSAY_RETURN_IF_ERROR(FinishTensor(node, arguments, tensor));
  if (const Status checked = CheckTensor(tensor, storage.first->source->uri()); !checked.ok()) {
    return Fail("a " + checked.message());
  }
  return Value(std::make_shared<const Tensor>(std::move(tensor)));
}

/// What follows storage, offset, size and strides in the forms that there are.
Status ValueBuilder::FinishTensor(const Node& node, const std::vector<Node*>& arguments, Tensor& tensor) {
  const bool quantized = Is(node, "torch._utils", "_rebuild_qtensor");
  const bool names_dtype = Is(node, "torch._utils", "_rebuild_tensor_v3");
  if (quantized && arguments.size() > 4) {
    ASSAY_ASSIGN_OR_RETURN(Value quantizer, Build(*arguments[4]));
    tensor.quantizer = std::make_shared<const Value>(std::move(quantizer));
  }
  const size_t requires_grad = quantized ? 5 : 4;
  tensor.requires_grad = arguments.size() > requires_grad && arguments[requires_grad]->truth;
  if (names_dtype) {
    const Node* dtype = arguments.size() > 6 ? arguments[6] : nullptr;
    const DTypeInfo* info = dtype != nullptr && dtype->kind == Kind::kGlobal ? FindDType(dtype->global->name) : nullptr;
    if (info == nullptr) {
      return Fail("its pickle rebuilds a tensor without a dtype that is known");
    }
    tensor.dtype = info->dtype;
  }
  const size_t bits = names_dtype ? 7 : 6;
  if (!quantized && arguments.size() > bits && arguments[bits]->kind == Kind::kDict) {
    ASSAY_ASSIGN_OR_RETURN(Value set, Build(*arguments[bits]));
    tensor.bits = set.dict()->items.empty() ? nullptr : std::make_shared<const Value>(std::move(set));
  }
  return Status::Ok();
}

Result<std::pair<std::shared_ptr<const Storage>, DType>> ValueBuilder::StorageOf(const Node& node) {
  if (node.kind != Kind::kPersistent) {
    return Fail("its pickle rebuilds a tensor of what is no storage");
  }
  ASSAY_ASSIGN_OR_RETURN(const StorageName name, ReadStorageName(*node.arguments));
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<const Storage> storage, open_storage_(name));
  return std::pair(std::move(storage), name.dtype);
}

/// ('storage', class, key, location, elements), and in the legacy format a view, which is always None now.
Result<StorageName> ValueBuilder::ReadStorageName(const Node& id) const {
  const auto is_text = [](const Node* node) { return node->kind == Kind::kText; };
  const std::vector<Node*>& items = id.items;
  const bool fits = id.kind == Kind::kTuple && items.size() >= 5 && is_text(items[0]) && items[0]->text == "storage" &&
                    items[1]->kind == Kind::kGlobal && is_text(items[2]) && is_text(items[3]) &&
                    items[4]->kind == Kind::kInt && items[4]->integer >= 0;
  if (!fits) {
    return Fail("its pickle refers to something outside it that is no storage");
  }
  if (items.size() > 5 && items[5]->kind != Kind::kNone) {
    return Fail("it has views of storages, as torch before 0.4 wrote them: load it with torch and save it again");
  }
  const GlobalName& storage_class = *items[1]->global;
  const DTypeInfo* info = FindDTypeOfStorage(storage_class.name);
  if (info == nullptr && storage_class.name != "UntypedStorage") {
    return Fail(fmt::format("its pickle has a storage of {}, which is no class of storages", storage_class.name));
  }
  return StorageName{info == nullptr ? DType::kUInt8 : info->dtype, std::string(items[2]->text),
                     std::string(items[3]->text), items[4]->integer};
}

Result<Sizes> ValueBuilder::ReadSizes(const Node& node) {
  ASSAY_ASSIGN_OR_RETURN(const Value value, Build(node));
  const Value::Sequence* sequence = value.sequence();
  Sizes sizes;
  for (const Value& item : sequence == nullptr ? std::vector<Value>() : sequence->items) {
    const auto* size = item.get<int64_t>();
    sizes.push_back(size == nullptr ? -1 : *size);
  }
  constexpr size_t kMostDimensions = 64;
  if (sequence == nullptr || sizes.size() > kMostDimensions ||
      std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) {
    return Fail("its pickle rebuilds a tensor whose size or strides are no numbers from 0 on");
  }
  return sizes;
}

}  // namespace

Result<Value> ToValue(const Pickle& pickle, const OpenStorage& open_storage, const std::string& source) {
  return ValueBuilder(open_storage, source).Build(*pickle.root);
}

Result<Value> ToPlainValue(const Pickle& pickle, const std::string& source) {
  const OpenStorage none = [&source](const StorageName&) -> Result<std::shared_ptr<const Storage>> {
    return Status::InvalidArgument(fmt::format("{}: it holds a tensor where only plain values belong", source));
  };
  return ToValue(pickle, none, source);
}

}  // namespace assay::checkpoint
