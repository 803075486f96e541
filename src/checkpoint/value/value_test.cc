#include "checkpoint/value/value.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoint/testing.h"
#include "checkpoint/value/encodings.h"
#include "checkpoint/value/flat_state.h"
#include "checkpoint/value/value_json.h"

namespace assay::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Value DictOf(std::vector<std::pair<Value, Value>> items) {
  return Value::MakeDict(std::move(items));
}
Value T(const std::string& text) {
  return Value::Text(text);
}

/// One of every kind.
Value EveryKind() {
  Value::Dict ordered = {.ordered = true, .items = {{T("z"), Value(int64_t{1})}}};
  ordered.attributes = std::make_shared<const Value>(DictOf({{T("version"), Value(int64_t{2})}}));
  Value::Object object = {.made_by = {"collections", "Counter"}, .items = {{Value(int64_t{30}), Value(int64_t{1})}}};
  object.arguments = {DictOf({})};
  return DictOf({
      {T("none"), Value()},
      {T("truth"), Value(true)},
      {T("number"), Value(int64_t{-7})},
      {T("big"), Value(Value::BigInt{"\x01\x02\x03\x04\x05\x06\x07\x08\x09"})},
      {T("float"), Value(0.1)},
      {T("whole float"), Value(2.0)},
      {T("infinity"), Value(-HUGE_VAL)},
      {T("complex"), Value(std::complex<double>(1.5, -HUGE_VAL))},
      {T("text"), T("\xe2\x98\x83")},
      {T("bytes"), Value(Value::Bytes{std::string("\0\xff", 2)})},
      {T("array"), Value(Value::Bytes{"x", true})},
      {T("list"), Value::List({Value(int64_t{1}), Value::List({})})},
      {T("tuple"), Value::Tuple({T("a")})},
      {T("set"), Value::Make(Value::SequenceKind::kSet, {Value(int64_t{1})})},
      {T("size"), Value::Make(Value::SequenceKind::kSize, {Value(int64_t{1})})},
      {Value(int64_t{3}), T("numbered")},
      {T("ordered"), Value(std::make_shared<const Value::Dict>(ordered))},
      {T("dtype"), Value(Value::Global{"torch", "float32"})},
      {T("object"), Value(std::make_shared<const Value::Object>(object))},
      {T("empty"), DictOf({})},
  });
}

TEST(ValueJson, EveryKindComesBack) {
  const nlohmann::json json = Must(ValueToJson(EveryKind()));
  const Value back = Must(ValueFromJson(json, {}, "x"));
  EXPECT_EQ(DumpJson(Must(ValueToJson(back))), DumpJson(json));
  // Through text too, as it is kept.
  const Value again = Must(ValueFromJson(Must(ParseJson(DumpJson(json), "x")), {}, "x"));
  EXPECT_EQ(DumpJson(Must(ValueToJson(again))), DumpJson(json));
  EXPECT_NE(again.Find("whole float")->get<double>(), nullptr) << "a float without a fraction stays one";
}

TEST(ValueJson, RefusesWhatItDidNotWrite) {
  const auto refused = [](const char* text) { return ErrorOf(ValueFromJson(Must(ParseJson(text, "x")), {}, "x")); };
  EXPECT_THAT(refused(R"({"$object": ["os", "system"], "arguments": ["ls"]})"), HasSubstr("os.system"));
  EXPECT_THAT(refused(R"({"$global": ["os", "system"]})"), HasSubstr("os.system"));
  EXPECT_THAT(refused(R"({"$leaf": "nowhere"})"), HasSubstr("nowhere"));
  EXPECT_THAT(refused(R"({"a": 1})"), HasSubstr("no kind"));
  EXPECT_THAT(refused(R"({"$dict": [[1]]})"), HasSubstr("no pair"));
  EXPECT_THAT(refused(R"({"$float": 1})"), HasSubstr("no kind"));
  EXPECT_THAT(refused(R"({"$complex": [{"$float": []}, 1]})"), HasSubstr("complex"));
  EXPECT_THAT(refused("18446744073709551615"), HasSubstr("18446744073709551615"));
}

TEST(ValueJson, LeavesNoTensorOut) {
  const Value tensor(TensorOf(DType::kUInt8, {1}, "x"));
  const std::map<std::string, Value> leaves = {{"a", tensor}, {"b", tensor}};
  EXPECT_THAT(ErrorOf(ValueFromJson(Must(ParseJson(R"([{"$leaf": "a"}])", "x")), leaves, "x")), HasSubstr("'b'"));
}

TEST(ValueJson, OfAnyDepthIsReadAgainOrNotWritten) {
  for (int depth = 1; depth < 150; ++depth) {
    Value nested = Value(int64_t{1});
    Value listed = Value(int64_t{1});
    for (int i = 0; i < depth; ++i) {
      nested = DictOf({{T("a"), nested}});
      listed = Value::List({listed});
    }
    for (const Value& value : {nested, listed, DictOf({{T("x"), Value::Tuple({nested})}})}) {
      for (const auto& json : {ValueToJson(value), StructureToJson(value, LeafForm::kNamesAndPlain)}) {
        EXPECT_TRUE(!json.ok() || ParseJson(DumpJson(*json), "x").ok()) << depth;
        EXPECT_TRUE(json.ok() || depth > 50) << depth;
      }
    }
  }
}

TEST(Flatten, NamesLeavesAsTorchDoes) {
  const Value tensor(TensorOf(DType::kUInt8, {1}, "x"));
  const Value root = DictOf({{T("model"), DictOf({{T("w"), tensor}})},
                             {T("states"), Value::List({DictOf({{Value(int64_t{0}), tensor}}), tensor})},
                             {T("plain list"), Value::List({Value(int64_t{1}), Value::List({})})},
                             {T("tuple"), Value::Tuple({tensor})}});
  std::vector<std::string> names;
  for (const Leaf& leaf : Must(Flatten(root))) {
    names.push_back(leaf.name);
  }
  EXPECT_THAT(names, ElementsAre("model.w", "states.0.0", "states.1", "plain list", "tuple"));
}

TEST(Flatten, RefusesTwoLeavesOfOneName) {
  EXPECT_THAT(ErrorOf(Flatten(DictOf({{T("a.b"), Value()}, {T("a"), DictOf({{T("b"), Value()}})}}))),
              HasSubstr("'a.b'"));
  EXPECT_THAT(ErrorOf(Flatten(DictOf({{Value(int64_t{1}), Value()}, {T("1"), Value()}}))), HasSubstr("'1'"));
}

TEST(Unflatten, MakesPlainTreesAgain) {
  const Value tensor(TensorOf(DType::kUInt8, {1}, "x"));
  const Value root = DictOf({{T("a"), DictOf({{T("b.c"), tensor}, {T("d"), Value()}})},
                             {T("list"), Value::List({tensor, DictOf({{T("e"), Value(int64_t{1})}})})}});
  ASSERT_TRUE(IsPlainTree(root));
  const Value again = Unflatten(Must(Flatten(root)));
  EXPECT_EQ(DumpJson(Must(StructureToJson(again, LeafForm::kNames))),
            DumpJson(Must(StructureToJson(root, LeafForm::kNames))));
  EXPECT_FALSE(IsPlainTree(EveryKind()));
  EXPECT_FALSE(IsPlainTree(DictOf({{Value(int64_t{1}), Value()}})));
}

TEST(Structure, PutsLeavesWhereTheyWere) {
  const Value root = DictOf({{T("kinds"), EveryKind()}, {T("w"), Value(TensorOf(DType::kUInt8, {1}, "x"))}});
  for (const LeafForm form : {LeafForm::kNames, LeafForm::kNamesAndPlain}) {
    std::map<std::string, Value> leaves;
    for (const Leaf& leaf : Must(Flatten(root))) {
      leaves[leaf.name] = leaf.value;
    }
    const nlohmann::json structure = Must(StructureToJson(root, form));
    const Value back = Must(ValueFromJson(structure, leaves, "x"));
    EXPECT_EQ(DumpJson(Must(ValueToJson(*back.Find("kinds")))), DumpJson(Must(ValueToJson(EveryKind()))));
    EXPECT_EQ(back.Find("w")->tensor(), root.Find("w")->tensor());
  }
}

TEST(Encodings, BytesThroughTextAndBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  EXPECT_EQ(Utf8ToLatin1(Latin1ToUtf8(bytes)), bytes);
  EXPECT_EQ(Utf8ToLatin1("\xe2\x98\x83"), std::nullopt);
  EXPECT_EQ(Utf8ToLatin1("\xc3"), std::nullopt);
  std::string text;
  EXPECT_FALSE(AppendUtf8(0xd800, text));
  EXPECT_FALSE(AppendUtf8(0x110000, text));
  EXPECT_TRUE(AppendUtf8(0x1f600, text));
  EXPECT_EQ(text, "\xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace assay::checkpoint
