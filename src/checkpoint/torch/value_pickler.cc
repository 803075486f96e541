#include "checkpoint/torch/value_pickler.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/text.h"
#include "checkpoint/pickle/globals.h"
#include "checkpoint/pickle/pickle_writer.h"

namespace assay::checkpoint {
namespace {

class ValuePickler {
 public:
  Result<PickledValue> Run(const Value& value) {
    ASSAY_RETURN_IF_ERROR(Write(value));
    return PickledValue{writer_.Finish(), std::move(storages_)};
  }

 private:
  /// Leaves one object on the stack, as all below do.
  Status Write(const Value& value);
  Status WriteGlobal(const Value::Global& global);
  Status WriteSequence(const Value::Sequence& sequence);
  Status WriteListItems(const std::vector<Value>& items);
  Status WriteDict(const Value::Dict& dict);
  Status WriteItems(const std::vector<std::pair<Value, Value>>& items);
  Status WriteObject(const Value::Object& object);
  Status WriteTensor(const Tensor& tensor);
  void WriteBytes(const Value::Bytes& bytes);
  void WriteComplex(const std::complex<double>& number);
  void WriteEmptyOrderedDict();
  void WriteStorage(DType dtype, size_t number);

  /// What `pointer` points to, once: where others point to it too, they get the same object.
  template <typename Pointee>
  Status WriteShared(const std::shared_ptr<const Pointee>& pointer, Status (ValuePickler::*write)(const Pointee&)) {
    if (const auto found = remembered_.find(pointer.get()); found != remembered_.end()) {
      writer_.Recall(found->second);
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR((this->*write)(*pointer));
    if (pointer.use_count() > 1) {
      remembered_[pointer.get()] = writer_.Remember();
    }
    return Status::Ok();
  }

  /// The number of the tensor's storage, and where in it the tensor is.
  std::pair<size_t, Block> Place(const Tensor& tensor);
  Status WriteAt(std::string place, const Value& value) {
    path_.push_back(std::move(place));
    const Status status = Write(value);
    path_.pop_back();
    return status;
  }

  PickleWriter writer_;
  std::vector<PickledStorage> storages_;
  std::map<const void*, size_t> numbers_;  ///< of storages, or of the tensors that got one of their own
  std::map<const void*, uint32_t> remembered_;
  std::vector<std::string> path_;  ///< of the value that is written
};

Status ValuePickler::Write(const Value& value) {
  if (value.is_none()) {
    writer_.None();
  } else if (const auto* truth = value.get<bool>()) {
    writer_.Bool(*truth);
  } else if (const auto* number = value.get<int64_t>()) {
    writer_.Int(*number);
  } else if (const auto* big = value.get<Value::BigInt>()) {
    writer_.BigInt(big->bytes);
  } else if (const auto* real = value.get<double>()) {
    writer_.Float(*real);
  } else if (const auto* complex = value.get<std::complex<double>>()) {
    WriteComplex(*complex);
  } else if (const auto* text = value.get<std::string>()) {
    writer_.Text(*text);
  } else if (const auto* bytes = value.get<Value::Bytes>()) {
    WriteBytes(*bytes);
  } else if (const auto* global = value.get<Value::Global>()) {
    return WriteGlobal(*global);
  } else if (const auto* sequence = value.get<std::shared_ptr<const Value::Sequence>>()) {
    return WriteShared(*sequence, &ValuePickler::WriteSequence);
  } else if (const auto* dict = value.get<std::shared_ptr<const Value::Dict>>()) {
    return WriteShared(*dict, &ValuePickler::WriteDict);
  } else if (const auto* object = value.get<std::shared_ptr<const Value::Object>>()) {
    return WriteShared(*object, &ValuePickler::WriteObject);
  } else if (const auto* tensor = value.get<std::shared_ptr<const Tensor>>()) {
    return WriteShared(*tensor, &ValuePickler::WriteTensor);
  }
  return Status::Ok();
}

void ValuePickler::WriteComplex(const std::complex<double>& number) {
  writer_.Global("builtins", "complex");
  writer_.Float(number.real());
  writer_.Float(number.imag());
  writer_.EndTuple(2);
  writer_.Reduce();
}

void ValuePickler::WriteBytes(const Value::Bytes& bytes) {
  if (!bytes.mutable_array) {
    return writer_.Bytes(bytes.bytes);
  }
  writer_.Global("builtins", "bytearray");
  writer_.Bytes(bytes.bytes);
  writer_.EndTuple(1);
  writer_.Reduce();
}

Status ValuePickler::WriteGlobal(const Value::Global& global) {
  if (FindGlobal(StateGlobals(), global.module, global.name) == nullptr) {
    return Status::InvalidArgument(
        fmt::format("cannot write a pickle with '{}.{}': it is not among the names that are "
                    "allowed",
                    global.module, global.name));
  }
  writer_.Global(global.module, global.name);
  return Status::Ok();
}

Status ValuePickler::WriteListItems(const std::vector<Value>& items) {
  writer_.EmptyList();
  if (items.empty()) {
    return Status::Ok();
  }
  writer_.Mark();
  for (size_t i = 0; i < items.size(); ++i) {
    ASSAY_RETURN_IF_ERROR(WriteAt(fmt::format("{}", i), items[i]));
  }
  writer_.Appends();
  return Status::Ok();
}

Status ValuePickler::WriteSequence(const Value::Sequence& sequence) {
  using Kind = Value::SequenceKind;
  if (sequence.kind == Kind::kList) {
    return WriteListItems(sequence.items);
  }
  if (sequence.kind == Kind::kSet || sequence.kind == Kind::kFrozenSet) {
    writer_.Global("builtins", sequence.kind == Kind::kSet ? "set" : "frozenset");
    ASSAY_RETURN_IF_ERROR(WriteListItems(sequence.items));
  } else {
    if (sequence.kind == Kind::kSize) {
      writer_.Global("torch", "Size");
    }
    writer_.BeginTuple(sequence.items.size());
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      ASSAY_RETURN_IF_ERROR(WriteAt(fmt::format("{}", i), sequence.items[i]));
    }
    writer_.EndTuple(sequence.items.size());
  }
  if (sequence.kind != Kind::kTuple) {
    writer_.EndTuple(1);
    writer_.Reduce();
  }
  return Status::Ok();
}

Status ValuePickler::WriteItems(const std::vector<std::pair<Value, Value>>& items) {
  if (items.empty()) {
    return Status::Ok();
  }
  writer_.Mark();
  for (const auto& [key, value] : items) {
    ASSAY_RETURN_IF_ERROR(Write(key));
    const auto* text = key.get<std::string>();
    ASSAY_RETURN_IF_ERROR(WriteAt(text != nullptr ? *text : ShortText(key), value));
  }
  writer_.SetItems();
  return Status::Ok();
}

void ValuePickler::WriteEmptyOrderedDict() {
  writer_.Global("collections", "OrderedDict");
  writer_.EmptyTuple();
  writer_.Reduce();
}

Status ValuePickler::WriteDict(const Value::Dict& dict) {
  if (dict.ordered) {
    WriteEmptyOrderedDict();
  } else {
    writer_.EmptyDict();
  }
  ASSAY_RETURN_IF_ERROR(WriteItems(dict.items));
  if (dict.attributes != nullptr) {
    ASSAY_RETURN_IF_ERROR(Write(*dict.attributes));
    writer_.Build();
  }
  return Status::Ok();
}

Status ValuePickler::WriteObject(const Value::Object& object) {
  ASSAY_RETURN_IF_ERROR(WriteGlobal(object.made_by));
  writer_.BeginTuple(object.arguments.size());
  for (const Value& argument : object.arguments) {
    ASSAY_RETURN_IF_ERROR(Write(argument));
  }
  writer_.EndTuple(object.arguments.size());
  if (object.by_new) {
    writer_.NewObject();
  } else {
    writer_.Reduce();
  }
  ASSAY_RETURN_IF_ERROR(WriteItems(object.items));
  if (object.state != nullptr) {
    ASSAY_RETURN_IF_ERROR(Write(*object.state));
    writer_.Build();
  }
  return Status::Ok();
}

std::pair<size_t, Block> ValuePickler::Place(const Tensor& tensor) {
  const bool as_it_lies = tensor.blocks.size() == 1;
  const void* owner = as_it_lies ? static_cast<const void*>(tensor.blocks.front().storage.get()) : &tensor;
  const auto [known, is_new] = numbers_.try_emplace(owner, storages_.size());
  if (is_new) {
    PickledStorage& storage = storages_.emplace_back();
    storage.item = Join(path_, ".");
    storage.storage = as_it_lies ? *tensor.blocks.front().storage
                                 : Storage{RowMajorBytes(std::make_shared<const Tensor>(tensor)), 0, tensor.bytes()};
  }
  if (as_it_lies) {
    return {known->second, tensor.blocks.front()};
  }
  return {known->second, {.box = WholeOf(tensor.shape), .strides = ContiguousStrides(tensor.shape)}};
}

void ValuePickler::WriteStorage(DType dtype, size_t number) {
  const DTypeInfo& info = InfoOf(dtype);
  const bool is_typed = !info.storage_class.empty();
  writer_.BeginTuple(5);
  writer_.Text("storage");
  writer_.Global(is_typed ? "torch" : "torch.storage", is_typed ? info.storage_class : "UntypedStorage");
  writer_.Text(fmt::format("{}", number));
  writer_.Text("cpu");
  writer_.Int(storages_[number].storage.bytes / (is_typed ? ElementBytes(dtype) : 1));
  writer_.EndTuple(5);
  writer_.PersistentId();
}

Status ValuePickler::WriteTensor(const Tensor& tensor) {
  constexpr size_t kManyArguments = 6;  // any number beyond three
  if (tensor.is_parameter) {
    writer_.Global("torch._utils", "_rebuild_parameter");
  }
  const bool names_dtype = InfoOf(tensor.dtype).storage_class.empty();
  writer_.Global("torch._utils", tensor.quantizer != nullptr ? "_rebuild_qtensor"
                                 : names_dtype               ? "_rebuild_tensor_v3"
                                                             : "_rebuild_tensor_v2");
  writer_.BeginTuple(kManyArguments);
  const auto [number, block] = Place(tensor);
  WriteStorage(tensor.dtype, number);
  writer_.Int(block.storage_offset);
  writer_.Tuple(tensor.shape);
  writer_.Tuple(block.strides);
  if (tensor.quantizer != nullptr) {
    ASSAY_RETURN_IF_ERROR(Write(*tensor.quantizer));
  }
  writer_.Bool(tensor.requires_grad && !tensor.is_parameter);
  WriteEmptyOrderedDict();
  if (names_dtype && tensor.quantizer == nullptr) {
    writer_.Global("torch", InfoOf(tensor.dtype).name);
  }
  if (tensor.bits != nullptr) {
    ASSAY_RETURN_IF_ERROR(Write(*tensor.bits));
  }
  writer_.EndTuple(kManyArguments);
  writer_.Reduce();
  if (tensor.is_parameter) {
    writer_.Bool(tensor.requires_grad);
    WriteEmptyOrderedDict();
    writer_.EndTuple(3);
    writer_.Reduce();
  }
  return Status::Ok();
}

}  // namespace

Result<PickledValue> PickleValue(const Value& value) {
  return ValuePickler().Run(value);
}

}  // namespace assay::checkpoint
