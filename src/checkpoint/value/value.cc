#include "checkpoint/value/value.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay::checkpoint {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

std::string_view NameOfKind(Value::SequenceKind kind) {
  constexpr std::string_view kNames[] = {"list", "tuple", "set", "frozenset", "size"};
  return kNames[static_cast<size_t>(kind)];
}

std::string SequenceText(const Value::Sequence& sequence, size_t width) {
  std::string text = "[";
  for (const Value& item : sequence.items) {
    text += (text.size() > 1 ? ", " : "") + ShortText(item, width);
    if (text.size() > width) {
      return fmt::format("{} of {}", NameOfKind(sequence.kind), sequence.items.size());
    }
  }
  text += "]";
  return sequence.kind == Value::SequenceKind::kList ? text : fmt::format("{} {}", NameOfKind(sequence.kind), text);
}

std::string DictText(const Value::Dict& dict, size_t width) {
  std::string text = "{";
  for (const auto& [key, value] : dict.items) {
    text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", ShortText(key, width), ShortText(value, width));
    if (text.size() > width) {
      return fmt::format("dict of {}", dict.items.size());
    }
  }
  return text + "}";
}

std::string Quoted(const std::string& text, size_t width) {
  return text.size() <= width ? fmt::format("'{}'", text)
                              : fmt::format("'{}' and {} bytes more", text.substr(0, width), text.size() - width);
}

}  // namespace

const Value* Value::Find(const std::string& key) const {
  const Dict* held = dict();
  if (held == nullptr) {
    return nullptr;
  }
  for (const auto& [name, value] : held->items) {
    if (const auto* text = name.get<std::string>(); text != nullptr && *text == key) {
      return &value;
    }
  }
  return nullptr;
}

std::string ShortText(const Value& value, size_t width) {
  const Overloaded text = {
      [](std::monostate) { return std::string("None"); },
      [](bool truth) { return std::string(truth ? "True" : "False"); },
      [](int64_t number) { return fmt::format("{}", number); },
      [](const Value::BigInt& number) { return fmt::format("int of {} bits", number.bytes.size() * 8); },
      [](double number) { return fmt::format("{}", number); },
      [](const std::complex<double>& number) { return fmt::format("({}{:+}j)", number.real(), number.imag()); },
      [width](const std::string& words) { return Quoted(words, width); },
      [](const Value::Bytes& bytes) { return fmt::format("{} bytes", bytes.bytes.size()); },
      [width](const std::shared_ptr<const Value::Sequence>& sequence) { return SequenceText(*sequence, width); },
      [width](const std::shared_ptr<const Value::Dict>& dict) { return DictText(*dict, width); },
      [](const Value::Global& global) { return fmt::format("{}.{}", global.module, global.name); },
      [](const std::shared_ptr<const Value::Object>& object) {
        return fmt::format("{}.{}(...)", object->made_by.module, object->made_by.name);
      },
      [](const std::shared_ptr<const Tensor>& tensor) {
        return fmt::format("{} {}", InfoOf(tensor->dtype).name, ShapeText(tensor->shape));
      },
  };
  return std::visit(text, value.data());
}

}  // namespace assay::checkpoint
