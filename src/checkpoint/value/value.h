// Plain Python values with tensors among them, as checkpoints nest them.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/tensor/tensor.h"

namespace assay::checkpoint {

/// Immutable, and cheap to copy: what is in a container is shared. Values that were read are at most kMaxValueDepth
/// deep and hold no cycles.
class Value {
 public:
  /// An int beyond 64 bits: two's complement, little endian, as pickle has it.
  struct BigInt {
    std::string bytes;
    bool operator==(const BigInt&) const = default;
  };
  struct Bytes {
    std::string bytes;
    bool mutable_array = false;  ///< a bytearray
    bool operator==(const Bytes&) const = default;
  };
  enum class SequenceKind { kList, kTuple, kSet, kFrozenSet, kSize };
  struct Sequence {
    SequenceKind kind = SequenceKind::kList;
    std::vector<Value> items{};
  };
  struct Dict {
    bool ordered = false;  ///< a collections.OrderedDict
    std::vector<std::pair<Value, Value>> items{};
    std::shared_ptr<const Value> attributes{};  ///< of an OrderedDict's __dict__ (state dicts keep versions there)
  };
  /// A name of a module that stands for itself: torch.float32, torch.per_tensor_affine.
  struct Global {
    std::string module;
    std::string name;
    bool operator==(const Global&) const = default;
  };
  /// What a class or a function makes of its arguments, where nobody here looks into it: it is written back as it was.
  struct Object {
    Global made_by{};
    bool by_new = false;  ///< by its __new__, not by a call
    std::vector<Value> arguments{};
    std::shared_ptr<const Value> state{};
    std::vector<std::pair<Value, Value>> items{};  ///< of one that is a dict too
  };
  using Data = std::variant<std::monostate, bool, int64_t, BigInt, double, std::complex<double>, std::string, Bytes,
                            std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, Global,
                            std::shared_ptr<const Object>, std::shared_ptr<const Tensor>>;

  Value() = default;                            ///< None
  Value(Data data) : data_(std::move(data)) {}  // NOLINT: implicit, so that any of them is a value

  static Value List(std::vector<Value> items) { return Make(SequenceKind::kList, std::move(items)); }
  static Value Tuple(std::vector<Value> items) { return Make(SequenceKind::kTuple, std::move(items)); }
  static Value Make(SequenceKind kind, std::vector<Value> items) {
    return Data(std::make_shared<const Sequence>(Sequence{kind, std::move(items)}));
  }
  static Value MakeDict(std::vector<std::pair<Value, Value>> items) {
    return Data(std::make_shared<const Dict>(Dict{false, std::move(items), nullptr}));
  }
  static Value Text(std::string text) { return Data(std::move(text)); }

  const Data& data() const { return data_; }
  bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  /// Null where it is of another kind.
  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }
  const Sequence* sequence() const { return Pointee<Sequence>(); }
  const Dict* dict() const { return Pointee<Dict>(); }
  const Object* object() const { return Pointee<Object>(); }
  std::shared_ptr<const Tensor> tensor() const {
    const auto* held = get<std::shared_ptr<const Tensor>>();
    return held == nullptr ? nullptr : *held;
  }
  /// The value of that text key of a dict; null for none.
  const Value* Find(const std::string& key) const;

 private:
  template <typename T>
  const T* Pointee() const {
    const auto* held = get<std::shared_ptr<const T>>();
    return held == nullptr ? nullptr : held->get();
  }

  Data data_;
};

/// Containers within containers that are read.
inline constexpr int kMaxValueDepth = 256;

/// A short text for people: "3", "'adamw'", "[0.9, 0.999]", "dict of 12", at most about `width` characters.
std::string ShortText(const Value& value, size_t width = 60);

}  // namespace assay::checkpoint
