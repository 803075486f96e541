#include "checkpoint/diff.h"

#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using Kind = LeafDifference::Kind;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

Value DictOf(std::vector<std::pair<std::string, Value>> items) {
  std::vector<std::pair<Value, Value>> pairs;
  for (auto& [name, value] : items) {
    pairs.emplace_back(Value::Text(name), std::move(value));
  }
  return Value::MakeDict(std::move(pairs));
}

std::map<std::string, Kind> KindsOf(Value a, Value b) {
  std::map<std::string, Kind> kinds;
  for (const LeafDifference& difference : Must(Diff(CheckpointOf(std::move(a)), CheckpointOf(std::move(b))))) {
    kinds[difference.name] = difference.kind;
  }
  return kinds;
}

Value FloatsOf(const std::vector<float>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return Value(TensorOf(DType::kFloat32, {static_cast<int64_t>(numbers.size())},
                        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
}

TEST(Diff, ValuesAreTheSameToTheBit) {
  const int64_t past_doubles = (int64_t{1} << 53) + 1;
  EXPECT_THAT(KindsOf(DictOf({{"step", Value(int64_t{1})},
                              {"zero", Value(0.0)},
                              {"big", Value(past_doubles)},
                              {"nan", Value(std::nan(""))},
                              {"text", Value::Text("a")}}),
                      DictOf({{"step", Value(1.0)},
                              {"zero", Value(-0.0)},
                              {"big", Value(static_cast<double>(past_doubles))},
                              {"nan", Value(std::nan(""))},
                              {"text", Value::Text("a")}})),
              UnorderedElementsAre(Pair("step", Kind::kChanged), Pair("zero", Kind::kChanged),
                                   Pair("big", Kind::kChanged), Pair("nan", Kind::kSame), Pair("text", Kind::kSame)));
}

TEST(Diff, SaysOfTensorsHowFarTheyAreApart) {
  const auto differences = Must(
      Diff(CheckpointOf(DictOf({{"w", FloatsOf({1, 2, 3})}})), CheckpointOf(DictOf({{"w", FloatsOf({1, 2, 5})}}))));
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].kind, Kind::kChanged);
  EXPECT_EQ(differences[0].elements->differing, 1);
  EXPECT_EQ(differences[0].elements->squares, 4);
}

TEST(Diff, NamesWhatOneSideHas) {
  EXPECT_THAT(KindsOf(DictOf({{"w", FloatsOf({1})}, {"v", FloatsOf({1})}, {"x", FloatsOf({1})}}),
                      DictOf({{"w", FloatsOf({1, 2})}, {"u", FloatsOf({1})}, {"x", Value(1.0)}})),
              UnorderedElementsAre(Pair("w", Kind::kOtherForm), Pair("v", Kind::kOnlyInA), Pair("u", Kind::kOnlyInB),
                                   Pair("x", Kind::kOtherForm)));
}

TEST(Diff, RefusesTensorsThatRepeatBeyondMeasure) {
  Tensor tensor = *TensorOf(DType::kFloat32, {1}, std::string(4, '\0'));
  tensor.shape = {int64_t{1} << 50};
  tensor.blocks[0].box = WholeOf(tensor.shape);
  tensor.blocks[0].strides = {0};
  const Checkpoint checkpoint = CheckpointOf(DictOf({{"w", Value(std::make_shared<const Tensor>(tensor))}}));
  EXPECT_THAT(ErrorOf(Diff(checkpoint, checkpoint)), HasSubstr("beyond measure"));
}

}  // namespace
}  // namespace assay::checkpoint
