#include "checkpoint/pickle/machine.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/terminal.h"
#include "base/utf8.h"
#include "checkpoint/pickle/text_literals.h"

namespace assay::checkpoint {
namespace {

using Node = PickleNode;
using Kind = PickleNode::Kind;

/// A little-endian number of the first `bytes` of `text`, which has them.
uint64_t LittleEndian(std::string_view text) {
  uint64_t value = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  }
  return value;
}

class Machine {
 public:
  Machine(std::string_view bytes, GlobalList allowed, const std::string& source, const PickleLimits& limits,
          bool* ends_early)
      : bytes_(bytes), allowed_(allowed), source_(source), limits_(limits), ends_early_(ends_early) {}

  Result<Pickle> Run();

 private:
  using Step = Status (Machine::*)();
  struct Opcode {
    char code;
    Step step;
  };
  static const Opcode kOpcodes[];
  static std::array<Step, 256> MakeTable();

  Status Fail(const std::string& what) const {
    return Status::InvalidArgument(fmt::format("{}: its pickle {} at byte {}", source_, what, opcode_at_));
  }

  /// Where the bytes end before the pickle does.
  Status FailEarly(const std::string& what) {
    if (ends_early_ != nullptr) {
      *ends_early_ = true;
    }
    return Fail(what);
  }

  // What follows an opcode.
  Result<std::string_view> Take(uint64_t bytes);
  Result<uint64_t> TakeNumber(size_t bytes);
  /// Bytes whose number stands before them, in `length_bytes`.
  Result<std::string_view> TakeCounted(size_t length_bytes);
  Result<std::string_view> TakeLine();

  // The stack.
  Status Push(Node node);
  Status PushShared(Node* node);
  /// One that comes often and never changes: made once, and kept in `common`.
  Status PushCommon(Node*& common, Node node);
  /// The topmost, above the last mark, taken off it.
  Result<Node*> Pop();
  Result<Node*> Top();
  Result<std::vector<Node*>> PopToMark();

  // The opcodes, by what they do.
  Status Proto();
  Status Frame();
  Status Mark();
  Status PopOne();
  Status PopMark();
  Status Dup();
  Status None() { return PushCommon(none_, {.kind = Kind::kNone}); }
  Status True() { return PushCommon(true_, {.kind = Kind::kBool, .truth = true}); }
  Status False() { return PushCommon(false_, {.kind = Kind::kBool}); }
  Status Int();
  Status Long();
  Status Float();
  Status BinInt();
  Status BinInt1() { return Unsigned(1); }
  Status BinInt2() { return Unsigned(2); }
  Status Unsigned(size_t bytes);
  Status Long1() { return LongOf(1); }
  Status Long4() { return LongOf(4); }
  Status LongOf(size_t length_bytes);
  Status PushLong(std::string_view two_complement);
  Status BinFloat();
  Status String();
  Status Unicode();
  Status ShortBinString() { return Counted(1, Kind::kBytes, /*ascii_is_text=*/true); }
  Status BinString() { return Counted(4, Kind::kBytes, /*ascii_is_text=*/true); }
  Status ShortBinUnicode() { return Counted(1, Kind::kText); }
  Status BinUnicode() { return Counted(4, Kind::kText); }
  Status BinUnicode8() { return Counted(8, Kind::kText); }
  Status ShortBinBytes() { return Counted(1, Kind::kBytes); }
  Status BinBytes() { return Counted(4, Kind::kBytes); }
  Status BinBytes8() { return Counted(8, Kind::kBytes); }
  Status ByteArray8() { return Counted(8, Kind::kByteArray); }
  Status Counted(size_t length_bytes, Kind kind, bool ascii_is_text = false);
  Status PushText(std::string_view text);
  Status EmptyList() { return Push({.kind = Kind::kList}); }
  Status EmptyTuple() { return Push({.kind = Kind::kTuple}); }
  Status EmptyDict() { return Push({.kind = Kind::kDict}); }
  Status EmptySet() { return Push({.kind = Kind::kSet}); }
  Status List() { return FromMark(Kind::kList); }
  Status Tuple() { return FromMark(Kind::kTuple); }
  Status FrozenSet() { return FromMark(Kind::kFrozenSet); }
  Status Dict() { return FromMark(Kind::kDict); }
  Status FromMark(Kind kind);
  Status Tuple1() { return TupleOf(1); }
  Status Tuple2() { return TupleOf(2); }
  Status Tuple3() { return TupleOf(3); }
  Status TupleOf(size_t count);
  Status Append();
  Status Appends();
  Status SetItem();
  Status SetItems();
  Status AddItems();
  Status Extend(Node* container, const std::vector<Node*>& items);
  Status Get();
  Status BinGet() { return GetNumbered(1); }
  Status LongBinGet() { return GetNumbered(4); }
  Status GetNumbered(size_t bytes);
  Status GetAt(uint64_t index);
  Status Put();
  Status BinPut() { return PutNumbered(1); }
  Status LongBinPut() { return PutNumbered(4); }
  Status PutNumbered(size_t bytes);
  Status Memoize() { return PutAt(memoized_); }
  Status PutAt(uint64_t index);
  Status Global();
  Status StackGlobal();
  Status PushGlobal(std::string_view module, std::string_view name);
  Status Reduce();
  Status NewObj();
  Status NewObjEx();
  Status MakeObject(Node* callee, Node* arguments, bool by_new);
  Status Inst();
  Status Obj();
  Status Build();
  Status PersId();
  Status BinPersId();
  Status Stop();
  Status Refused() { return Fail("takes something from outside it, which is refused,"); }

  std::string_view bytes_;
  GlobalList allowed_;
  const std::string& source_;
  const PickleLimits& limits_;
  bool* ends_early_;  ///< null: nobody asks
  Pickle pickle_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  bool stopped_ = false;
  std::vector<Node*> stack_;
  std::vector<size_t> marks_;
  std::vector<Node*> memo_;
  uint64_t memoized_ = 0;
  Node* none_ = nullptr;
  Node* true_ = nullptr;
  Node* false_ = nullptr;
  std::array<Node*, 4096> small_{};  ///< numbers
};

const Machine::Opcode Machine::kOpcodes[] = {
    {'\x80', &Machine::Proto},
    {'\x95', &Machine::Frame},
    {'(', &Machine::Mark},
    {'0', &Machine::PopOne},
    {'1', &Machine::PopMark},
    {'2', &Machine::Dup},
    {'N', &Machine::None},
    {'\x88', &Machine::True},
    {'\x89', &Machine::False},
    {'I', &Machine::Int},
    {'L', &Machine::Long},
    {'F', &Machine::Float},
    {'J', &Machine::BinInt},
    {'K', &Machine::BinInt1},
    {'M', &Machine::BinInt2},
    {'\x8a', &Machine::Long1},
    {'\x8b', &Machine::Long4},
    {'G', &Machine::BinFloat},
    {'S', &Machine::String},
    {'V', &Machine::Unicode},
    {'U', &Machine::ShortBinString},
    {'T', &Machine::BinString},
    {'\x8c', &Machine::ShortBinUnicode},
    {'X', &Machine::BinUnicode},
    {'\x8d', &Machine::BinUnicode8},
    {'C', &Machine::ShortBinBytes},
    {'B', &Machine::BinBytes},
    {'\x8e', &Machine::BinBytes8},
    {'\x96', &Machine::ByteArray8},
    {']', &Machine::EmptyList},
    {')', &Machine::EmptyTuple},
    {'}', &Machine::EmptyDict},
    {'\x8f', &Machine::EmptySet},
    {'l', &Machine::List},
    {'t', &Machine::Tuple},
    {'\x91', &Machine::FrozenSet},
    {'d', &Machine::Dict},
    {'\x85', &Machine::Tuple1},
    {'\x86', &Machine::Tuple2},
    {'\x87', &Machine::Tuple3},
    {'a', &Machine::Append},
    {'e', &Machine::Appends},
    {'s', &Machine::SetItem},
    {'u', &Machine::SetItems},
    {'\x90', &Machine::AddItems},
    {'g', &Machine::Get},
    {'h', &Machine::BinGet},
    {'j', &Machine::LongBinGet},
    {'p', &Machine::Put},
    {'q', &Machine::BinPut},
    {'r', &Machine::LongBinPut},
    {'\x94', &Machine::Memoize},
    {'c', &Machine::Global},
    {'\x93', &Machine::StackGlobal},
    {'R', &Machine::Reduce},
    {'\x81', &Machine::NewObj},
    {'\x92', &Machine::NewObjEx},
    {'i', &Machine::Inst},
    {'o', &Machine::Obj},
    {'b', &Machine::Build},
    {'P', &Machine::PersId},
    {'Q', &Machine::BinPersId},
    {'.', &Machine::Stop},
    {'\x82', &Machine::Refused},  // EXT1, EXT2, EXT4: names of an extension registry
    {'\x83', &Machine::Refused},
    {'\x84', &Machine::Refused},
    {'\x97', &Machine::Refused},  // NEXT_BUFFER, READONLY_BUFFER: bytes that came beside the pickle
    {'\x98', &Machine::Refused},
};

std::array<Machine::Step, 256> Machine::MakeTable() {
  std::array<Step, 256> table{};
  for (const Opcode& opcode : kOpcodes) {
    table[static_cast<unsigned char>(opcode.code)] = opcode.step;
  }
  return table;
}

Result<Pickle> Machine::Run() {
  static const std::array<Step, 256> table = MakeTable();
  while (!stopped_) {
    opcode_at_ = at_;
    if (at_ == bytes_.size()) {
      return FailEarly("ends without its STOP: it is truncated");
    }
    const auto code = static_cast<unsigned char>(bytes_[at_++]);
    if (table[code] == nullptr) {
      return Fail(fmt::format("has an opcode 0x{:02x} that there is not", code));
    }
    ASSAY_RETURN_IF_ERROR((this->*table[code])());
  }
  pickle_.end = at_;
  return std::move(pickle_);
}

Result<std::string_view> Machine::Take(uint64_t bytes) {
  if (bytes > bytes_.size() - at_) {
    return FailEarly(fmt::format("claims {} bytes where {} are left", bytes, bytes_.size() - at_));
  }
  const std::string_view taken = bytes_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

Result<uint64_t> Machine::TakeNumber(size_t bytes) {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view text, Take(bytes));
  return LittleEndian(text);
}

Result<std::string_view> Machine::TakeCounted(size_t length_bytes) {
  ASSAY_ASSIGN_OR_RETURN(const uint64_t length, TakeNumber(length_bytes));
  return Take(length);
}

Result<std::string_view> Machine::TakeLine() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) {
    return FailEarly("has a line without an end");
  }
  const std::string_view line = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return line;
}

Status Machine::Push(Node node) {
  if (pickle_.nodes.size() >= limits_.nodes) {
    return Fail(fmt::format("makes more than {} objects, beyond measure,", limits_.nodes));
  }
  return PushShared(&pickle_.nodes.emplace_back(std::move(node)));
}

Status Machine::PushCommon(Node*& common, Node node) {
  if (common != nullptr) {
    return PushShared(common);
  }
  ASSAY_RETURN_IF_ERROR(Push(std::move(node)));
  common = stack_.back();
  return Status::Ok();
}

Status Machine::PushShared(Node* node) {
  if (stack_.size() >= 2 * limits_.nodes) {
    return Fail("puts too much on its stack");
  }
  stack_.push_back(node);
  return Status::Ok();
}

Result<Node*> Machine::Pop() {
  if (stack_.size() == (marks_.empty() ? 0 : marks_.back())) {
    return Fail("takes more from its stack than is there");
  }
  Node* node = stack_.back();
  stack_.pop_back();
  return node;
}

Result<Node*> Machine::Top() {
  ASSAY_ASSIGN_OR_RETURN(Node * node, Pop());
  stack_.push_back(node);
  return node;
}

Result<std::vector<Node*>> Machine::PopToMark() {
  if (marks_.empty()) {
    return Fail("has no mark where one is needed");
  }
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Node*> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

Status Machine::Proto() {
  ASSAY_ASSIGN_OR_RETURN(const uint64_t protocol, TakeNumber(1));
  return protocol <= 5 ? Status::Ok() : Fail(fmt::format("has the unknown protocol {}", protocol));
}

Status Machine::Frame() {
  return TakeNumber(8).status();
}

Status Machine::Mark() {
  if (marks_.size() >= limits_.nodes) {
    return Fail("puts too many marks on its stack");
  }
  marks_.push_back(stack_.size());
  return Status::Ok();
}

Status Machine::PopOne() {
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
    return Status::Ok();
  }
  return Pop().status();
}

Status Machine::PopMark() {
  return PopToMark().status();
}

Status Machine::Dup() {
  ASSAY_ASSIGN_OR_RETURN(Node * top, Top());
  return PushShared(top);
}

Status Machine::Int() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
  if (line == "00" || line == "01") {
    return Push({.kind = Kind::kBool, .truth = line == "01"});
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size()) {
    return Fail("has a number that is none, or too large,");
  }
  return Push({.kind = Kind::kInt, .integer = number});
}

Status Machine::Long() {
  ASSAY_ASSIGN_OR_RETURN(std::string_view line, TakeLine());
  line.remove_suffix(line.ends_with('L') ? 1 : 0);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size()) {
    return Fail("has a number that is none, or too large,");
  }
  return Push({.kind = Kind::kInt, .integer = number});
}

Status Machine::Float() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
  double number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error == std::errc::invalid_argument || end != line.data() + line.size()) {
    return Fail("has a number that is none");
  }
  return Push({.kind = Kind::kFloat, .real = number});
}

Status Machine::BinInt() {
  ASSAY_ASSIGN_OR_RETURN(const uint64_t bits, TakeNumber(4));
  return Push({.kind = Kind::kInt, .integer = static_cast<int32_t>(static_cast<uint32_t>(bits))});
}

Status Machine::Unsigned(size_t bytes) {
  ASSAY_ASSIGN_OR_RETURN(const uint64_t number, TakeNumber(bytes));
  Node node = {.kind = Kind::kInt, .integer = static_cast<int64_t>(number)};
  return number < small_.size() ? PushCommon(small_[number], std::move(node)) : Push(std::move(node));
}

Status Machine::LongOf(size_t length_bytes) {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view bytes, TakeCounted(length_bytes));
  return PushLong(bytes);
}

Status Machine::PushLong(std::string_view two_complement) {
  if (two_complement.size() > sizeof(int64_t)) {
    return Push({.kind = Kind::kBigInt, .text = two_complement});
  }
  uint64_t bits = LittleEndian(two_complement);
  const size_t used = 8 * two_complement.size();
  if (used > 0 && used < 64 && (bits >> (used - 1)) != 0) {
    bits |= ~uint64_t{0} << used;
  }
  return Push({.kind = Kind::kInt, .integer = static_cast<int64_t>(bits)});
}

Status Machine::BinFloat() {
  ASSAY_ASSIGN_OR_RETURN(const uint64_t bits, TakeNumber(8));
  return Push({.kind = Kind::kFloat, .real = std::bit_cast<double>(__builtin_bswap64(bits))});
}

Status Machine::String() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
  std::optional<std::string> text = UnquotePython(line);
  if (!text) {
    return Fail("has a text without its quotes");
  }
  return PushText(pickle_.owned.emplace_back(std::move(*text)));
}

Status Machine::Unicode() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
  std::optional<std::string> text = UnescapeRawUnicode(line);
  if (!text) {
    return Fail("has an escape that is none");
  }
  return PushText(pickle_.owned.emplace_back(std::move(*text)));
}

Status Machine::Counted(size_t length_bytes, Kind kind, bool ascii_is_text) {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view bytes, TakeCounted(length_bytes));
  if (kind == Kind::kText || (ascii_is_text && IsUtf8(bytes))) {
    return PushText(bytes);
  }
  return Push({.kind = kind, .text = bytes});
}

Status Machine::PushText(std::string_view text) {
  return IsUtf8(text) ? Push({.kind = Kind::kText, .text = text}) : Fail("has a text that is no UTF-8");
}

Status Machine::FromMark(Kind kind) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<Node*> items, PopToMark());
  if (kind == Kind::kDict && items.size() % 2 != 0) {
    return Fail("has a key without a value");
  }
  return Push({.kind = kind, .items = std::move(items)});
}

Status Machine::TupleOf(size_t count) {
  std::vector<Node*> items(count);
  for (size_t i = count; i-- > 0;) {
    ASSAY_ASSIGN_OR_RETURN(items[i], Pop());
  }
  return Push({.kind = Kind::kTuple, .items = std::move(items)});
}

Status Machine::Append() {
  ASSAY_ASSIGN_OR_RETURN(Node * item, Pop());
  ASSAY_ASSIGN_OR_RETURN(Node * list, Top());
  return list->kind == Kind::kList ? Extend(list, {item}) : Fail("appends to what is no list");
}

Status Machine::Appends() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Node*> items, PopToMark());
  ASSAY_ASSIGN_OR_RETURN(Node * list, Top());
  return list->kind == Kind::kList ? Extend(list, items) : Fail("appends to what is no list");
}

Status Machine::SetItem() {
  ASSAY_ASSIGN_OR_RETURN(Node * value, Pop());
  ASSAY_ASSIGN_OR_RETURN(Node * key, Pop());
  ASSAY_ASSIGN_OR_RETURN(Node * dict, Top());
  return Extend(dict, {key, value});
}

Status Machine::SetItems() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Node*> items, PopToMark());
  ASSAY_ASSIGN_OR_RETURN(Node * dict, Top());
  if (items.size() % 2 != 0) {
    return Fail("has a key without a value");
  }
  return dict->kind != Kind::kList ? Extend(dict, items) : Fail("sets items of what is no dict");
}

Status Machine::AddItems() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Node*> items, PopToMark());
  ASSAY_ASSIGN_OR_RETURN(Node * set, Top());
  return set->kind == Kind::kSet ? Extend(set, items) : Fail("adds items to what is no set");
}

Status Machine::Extend(Node* container, const std::vector<Node*>& items) {
  const bool is_dict_like = container->kind == Kind::kObject && container->callee->global->use == GlobalUse::kDictLike;
  if (container->kind != Kind::kList && container->kind != Kind::kSet && container->kind != Kind::kDict &&
      !is_dict_like) {
    return Fail("sets items of what is no dict");
  }
  container->items.insert(container->items.end(), items.begin(), items.end());
  return Status::Ok();
}

Status Machine::Get() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), index);
  return error == std::errc() && end == line.data() + line.size() ? GetAt(index) : Fail("has a number that is none");
}

Status Machine::GetNumbered(size_t bytes) {
  ASSAY_ASSIGN_OR_RETURN(const uint64_t index, TakeNumber(bytes));
  return GetAt(index);
}

Status Machine::GetAt(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == nullptr) {
    return Fail(fmt::format("asks for number {} of its memo, which is empty,", index));
  }
  return PushShared(memo_[index]);
}

Status Machine::Put() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), index);
  return error == std::errc() && end == line.data() + line.size() ? PutAt(index) : Fail("has a number that is none");
}

Status Machine::PutNumbered(size_t bytes) {
  ASSAY_ASSIGN_OR_RETURN(const uint64_t index, TakeNumber(bytes));
  return PutAt(index);
}

Status Machine::PutAt(uint64_t index) {
  ASSAY_ASSIGN_OR_RETURN(Node * top, Top());
  // Picklers number what they remember from 0 or 1 on.
  if (index > 2 * pickle_.nodes.size() + 1024) {
    return Fail(fmt::format("uses number {} of its memo, beyond measure,", index));
  }
  if (index >= memo_.size()) {
    memo_.resize(index + 1, nullptr);
  }
  memoized_ += memo_[index] == nullptr ? 1 : 0;
  memo_[index] = top;
  return Status::Ok();
}

Status Machine::Global() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view module, TakeLine());
  ASSAY_ASSIGN_OR_RETURN(const std::string_view name, TakeLine());
  return PushGlobal(module, name);
}

Status Machine::StackGlobal() {
  ASSAY_ASSIGN_OR_RETURN(const Node* name, Pop());
  ASSAY_ASSIGN_OR_RETURN(const Node* module, Pop());
  if (name->kind != Kind::kText || module->kind != Kind::kText) {
    return Fail("names an object by what is no text");
  }
  return PushGlobal(module->text, name->text);
}

Status Machine::PushGlobal(std::string_view module, std::string_view name) {
  const GlobalName* global = FindGlobal(allowed_, module, name);
  if (global == nullptr) {
    return Fail(fmt::format("uses '{}.{}', which is not among the names that are allowed (nothing was executed),",
                            Escaped(module.substr(0, 200)), Escaped(name.substr(0, 200))));
  }
  return Push({.kind = Kind::kGlobal, .global = global});
}

Status Machine::Reduce() {
  ASSAY_ASSIGN_OR_RETURN(Node * arguments, Pop());
  ASSAY_ASSIGN_OR_RETURN(Node * callee, Pop());
  return MakeObject(callee, arguments, /*by_new=*/false);
}

Status Machine::NewObj() {
  ASSAY_ASSIGN_OR_RETURN(Node * arguments, Pop());
  ASSAY_ASSIGN_OR_RETURN(Node * callee, Pop());
  return MakeObject(callee, arguments, /*by_new=*/true);
}

Status Machine::NewObjEx() {
  ASSAY_ASSIGN_OR_RETURN(const Node* keywords, Pop());
  if (keywords->kind != Kind::kDict || !keywords->items.empty()) {
    return Fail("makes an object with named arguments, which is refused,");
  }
  return NewObj();
}

Status Machine::MakeObject(Node* callee, Node* arguments, bool by_new) {
  if (callee->kind != Kind::kGlobal) {
    return Fail("calls what is no name");
  }
  if (callee->global->use == GlobalUse::kName) {
    return Fail(fmt::format("calls {}.{}, which is refused,", callee->global->module, callee->global->name));
  }
  if (arguments->kind != Kind::kTuple) {
    return Fail("calls with arguments that are no tuple");
  }
  const std::vector<Node*>& items = arguments->items;
  if (callee->global->use == GlobalUse::kMember &&
      (items.size() != 2 || items[0]->kind != Kind::kGlobal || items[1]->kind != Kind::kText)) {
    return Fail("asks for a member of what is no name, which is refused,");
  }
  return Push({.kind = Kind::kObject, .truth = by_new, .callee = callee, .arguments = arguments});
}

Status Machine::Inst() {
  ASSAY_ASSIGN_OR_RETURN(std::vector<Node*> items, PopToMark());
  ASSAY_RETURN_IF_ERROR(Global());
  ASSAY_ASSIGN_OR_RETURN(Node * callee, Pop());
  ASSAY_RETURN_IF_ERROR(Push({.kind = Kind::kTuple, .items = std::move(items)}));
  ASSAY_ASSIGN_OR_RETURN(Node * arguments, Pop());
  return MakeObject(callee, arguments, /*by_new=*/false);
}

Status Machine::Obj() {
  ASSAY_ASSIGN_OR_RETURN(std::vector<Node*> items, PopToMark());
  if (items.empty()) {
    return Fail("makes an object of nothing");
  }
  Node* callee = items.front();
  items.erase(items.begin());
  ASSAY_RETURN_IF_ERROR(Push({.kind = Kind::kTuple, .items = std::move(items)}));
  ASSAY_ASSIGN_OR_RETURN(Node * arguments, Pop());
  return MakeObject(callee, arguments, /*by_new=*/false);
}

Status Machine::Build() {
  ASSAY_ASSIGN_OR_RETURN(Node * state, Pop());
  ASSAY_ASSIGN_OR_RETURN(Node * object, Top());
  if (object->kind != Kind::kObject) {
    return Fail("sets the state of what is no object");
  }
  object->state = state;
  return Status::Ok();
}

Status Machine::PersId() {
  ASSAY_ASSIGN_OR_RETURN(const std::string_view line, TakeLine());
  ASSAY_RETURN_IF_ERROR(PushText(line));
  return BinPersId();
}

Status Machine::BinPersId() {
  ASSAY_ASSIGN_OR_RETURN(Node * id, Pop());
  return Push({.kind = Kind::kPersistent, .arguments = id});
}

Status Machine::Stop() {
  ASSAY_ASSIGN_OR_RETURN(pickle_.root, Pop());
  stopped_ = true;
  return Status::Ok();
}

}  // namespace

Result<Pickle> ReadPickle(std::string_view bytes, GlobalList allowed, const std::string& source,
                          const PickleLimits& limits, bool* ends_early) {
  return Machine(bytes, allowed, source, limits, ends_early).Run();
}

}  // namespace assay::checkpoint
