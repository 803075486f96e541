#include "base/json.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ParseJsonTest, ErrorsNameSourceAndLineOnly) {
  const Status status = ParseJson("{\n\"a\": 1,\n\"b\": nope\n}", "rows.jsonl").status();
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.message(), StartsWith("rows.jsonl:3: not valid JSON: "));
  EXPECT_THAT(status.message(), AllOf(Not(HasSubstr("exception")), Not(HasSubstr("\n"))));
}

TEST(ParseJsonTest, EmptyAndTruncatedTextsAreErrors) {
  EXPECT_THAT(ParseJson("", "x").status().message(), StartsWith("x:1: "));
  EXPECT_THAT(ParseJson("{\"a\": [1,\n2", "x").status().message(), StartsWith("x:2: "));
  EXPECT_FALSE(ParseJson("{} {}", "x").ok());
  EXPECT_FALSE(ParseJson("{\"a\": 1e999}", "x").ok());
}

TEST(ParseJsonTest, DeepNestingDoesNotExhaustTheStack) {
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '['), "x").ok());
  EXPECT_THAT(ParseJson(std::string(100'000, '[') + std::string(100'000, ']'), "x").status().message(),
              HasSubstr("nested more than 200 deep"));
  std::string objects;
  for (int i = 0; i < 300; ++i) {
    objects += R"({"a\"[":)";
  }
  EXPECT_FALSE(ParseJson(objects + "1" + std::string(300, '}'), "x").ok());
  EXPECT_TRUE(ParseJson(std::string(200, '[') + std::string(200, ']'), "x").ok());
  EXPECT_TRUE(ParseJson('"' + std::string(300, '[') + R"(\"[[")", "x").ok());
}

TEST(ReadJsonFileTest, ErrorsNameTheFile) {
  auto folder = TemporaryDirectory::Create("assay-json-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/config.json";
  EXPECT_THAT(ReadJsonFile(path).status().message(), HasSubstr("config.json: No such file"));
  ASSERT_TRUE(WriteFileAtomically(path, "{\"a\": }").ok());
  EXPECT_THAT(ReadJsonFile(path).status().message(), HasSubstr("config.json:1: "));
  ASSERT_TRUE(WriteFileAtomically(path, "{\"a\": 5}").ok());
  EXPECT_EQ((*ReadJsonFile(path))["a"], 5);
}

TEST(DumpJsonTest, IsOneLineWhateverTheText) {
  EXPECT_EQ(DumpJson({{"a", "x\ny"}}), R"({"a":"x\ny"})");
  EXPECT_EQ(DumpJson(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(DumpJson("\xff"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(DumpJsonPretty({{"a", 1}}), "{\n  \"a\": 1\n}\n");
}

TEST(NearestNameTest, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"batch_size", "model_name", "model_max_length", "r"};
  EXPECT_EQ(NearestName("batchsize", known), "batch_size");
  EXPECT_EQ(NearestName("Batch_Size", known), "batch_size");
  EXPECT_EQ(NearestName("bacth_size", known), "batch_size");
  EXPECT_EQ(NearestName("max_model_length", known), "");
  EXPECT_EQ(NearestName("model_max", known), "model_max_length");
  EXPECT_EQ(NearestName("colour", known), "");
  EXPECT_EQ(NearestName("x", known), "");
  EXPECT_EQ(NearestName("", known), "");
  EXPECT_EQ(NearestName("anything", {}), "");
}

TEST(CheckKeysTest, SuggestsTheNearestKey) {
  const std::vector<std::string> known = {"batch_size", "seed"};
  EXPECT_TRUE(CheckKeys({{"seed", 1}}, known, "plan").ok());
  EXPECT_EQ(CheckKeys({{"batchsize", 1}}, known, "plan").message(),
            "plan: unknown key 'batchsize' (did you mean 'batch_size'?)");
  EXPECT_EQ(CheckKeys({{"zzz", 1}}, known, "plan").message(), "plan: unknown key 'zzz'");
  EXPECT_EQ(CheckKeys(nlohmann::json::array(), known, "plan").message(), "plan: expected an object, not a list");
}

template <typename T>
Status Read(const char* json, T& target) {
  return ReadField(*ParseJson(json, "test"), "key", target);
}

TEST(ReadFieldTest, ReadsEachType) {
  bool flag = false;
  EXPECT_TRUE(Read(R"({"key": true})", flag).ok());
  EXPECT_TRUE(flag);
  int64_t integer = 0;
  EXPECT_TRUE(Read(R"({"key": -7})", integer).ok());
  EXPECT_EQ(integer, -7);
  uint64_t natural = 0;
  EXPECT_TRUE(Read(R"({"key": 18446744073709551615})", natural).ok());
  EXPECT_EQ(natural, std::numeric_limits<uint64_t>::max());
  double number = 0;
  EXPECT_TRUE(Read(R"({"key": 3})", number).ok());
  EXPECT_EQ(number, 3);
  std::vector<std::string> texts;
  EXPECT_TRUE(Read(R"({"key": ["a", "b"]})", texts).ok());
  EXPECT_THAT(texts, ::testing::ElementsAre("a", "b"));
  std::vector<int64_t> integers;
  EXPECT_TRUE(Read(R"({"key": [1, 2]})", integers).ok());
  EXPECT_THAT(integers, ::testing::ElementsAre(1, 2));
}

TEST(ReadFieldTest, MissingAndNullKeepTheDefault) {
  int64_t value = 5;
  EXPECT_TRUE(Read("{}", value).ok());
  EXPECT_TRUE(Read(R"({"key": null})", value).ok());
  EXPECT_EQ(value, 5);
}

TEST(ReadFieldTest, WrongTypesAreNamedAndChangeNothing) {
  int64_t integer = 5;
  EXPECT_EQ(Read(R"({"key": "four"})", integer).message(), "'key' must be an integer, not the text \"four\"");
  EXPECT_EQ(Read(R"({"key": "a\nb"})", integer).message(), "'key' must be an integer, not the text \"a\\nb\"");
  EXPECT_FALSE(Read(R"({"key": 1.5})", integer).ok());
  EXPECT_FALSE(Read(R"({"key": 9223372036854775808})", integer).ok());
  EXPECT_FALSE(Read(R"({"key": true})", integer).ok());
  EXPECT_EQ(integer, 5);
  uint64_t natural = 5;
  EXPECT_EQ(Read(R"({"key": -1})", natural).message(), "'key' must be an integer of at least 0, not -1");
  bool flag = true;
  EXPECT_FALSE(Read(R"({"key": 0})", flag).ok());
  EXPECT_TRUE(flag);
  std::string text;
  EXPECT_EQ(Read(R"({"key": {}})", text).message(), "'key' must be a text, not an object");
  std::vector<int64_t> integers = {1};
  EXPECT_EQ(Read(R"({"key": [1, "x"]})", integers).message(), "'key' must be a list of integers, not a list");
  EXPECT_THAT(integers, ::testing::ElementsAre(1));
}

}  // namespace
}  // namespace assay
