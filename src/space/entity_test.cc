#include "space/entity.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace assay::space {
namespace {

TEST(EntityTest, WritesValuesAsIdsDo) {
  EXPECT_EQ(ToString(Value()), "None");
  EXPECT_EQ(ToString(Value(true)), "True");
  EXPECT_EQ(ToString(Value(false)), "False");
  EXPECT_EQ(ToString(Value(int64_t{-4})), "-4");
  EXPECT_EQ(ToString(Value(4.0)), "4");
  EXPECT_EQ(ToString(Value(1e-5)), "0.00001");
  EXPECT_EQ(ToString(Value(0.1 + 0.2)), "0.3");
  EXPECT_EQ(ToString(Value(-0.0)), "0");
  EXPECT_EQ(ToString(Value(std::string("smollm2-135m"))), "smollm2-135m");
}

TEST(EntityTest, ReadsValuesOffACommandLine) {
  EXPECT_EQ(ValueFromText("None"), Value());
  EXPECT_EQ(ValueFromText("TRUE"), Value(true));
  EXPECT_EQ(ValueFromText("false"), Value(false));
  EXPECT_EQ(ValueFromText("4"), Value(int64_t{4}));
  EXPECT_EQ(ValueFromText("-1"), Value(int64_t{-1}));
  EXPECT_EQ(ValueFromText("1e-5"), Value(1e-5));
  EXPECT_EQ(ValueFromText("2.1.0"), Value(std::string("2.1.0")));
  EXPECT_EQ(ValueFromText("nan"), Value(std::string("nan")));
  EXPECT_EQ(ValueFromText("99999999999999999999"), Value(1e20));
  EXPECT_EQ(ValueFromText(""), Value(std::string()));
}

TEST(EntityTest, KeepsValuesThroughJson) {
  for (const Value& value : {Value(), Value(true), Value(int64_t{7}), Value(0.25), Value(std::string("a\"b"))}) {
    const auto back = ValueFromJson(nlohmann::json::parse(ToJson(value).dump()));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, value);
  }
  EXPECT_FALSE(ValueFromJson(nlohmann::json::array()).ok());
  EXPECT_EQ(*ValueFromJson(nlohmann::json(UINT64_MAX)), Value(18446744073709551615.0));
}

TEST(EntityTest, IdDoesNotDependOnTheOrderInWhichPropertiesAreGiven) {
  Entity forwards;
  forwards["model_name"] = std::string("m");
  forwards["batch_size"] = int64_t{4};
  Entity backwards;
  backwards["batch_size"] = 4.0;
  backwards["model_name"] = std::string("m");
  EXPECT_EQ(EntityId(forwards), "batch_size.4-model_name.m");
  EXPECT_EQ(EntityId(forwards), EntityId(backwards));
}

}  // namespace
}  // namespace assay::space
