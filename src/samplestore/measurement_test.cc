#include "samplestore/measurement.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::samplestore {
namespace {

using testing::HasSubstr;

Measurement Example() {
  Measurement measurement;
  measurement.uid = "u1";
  measurement.experiment = "e-v1.0.0";
  measurement.parameterized_id = "e-v1.0.0-a.1";
  measurement.entity = {{"batch_size", int64_t{4}}, {"model_name", std::string("m")}, {"gpu_model", space::Value()}};
  measurement.entity_id = space::EntityId(measurement.entity);
  measurement.outcome = Outcome::kValid;
  measurement.properties = {{"train_runtime", 12.5}, {"is_valid", int64_t{1}}};
  measurement.units = {{"train_runtime", "s"}};
  measurement.provenance = {{"host", "h"}};
  measurement.series = {{"loss", {3.5, 2.5}}};
  measurement.measured_at = "2026-01-31T12:00:00Z";
  return measurement;
}

TEST(MeasurementTest, KeepsEverythingThroughJson) {
  const Measurement measurement = Example();
  const auto json = ParseJson(DumpJson(ToJson(measurement)), "m");
  ASSERT_TRUE(json.ok());
  const auto back = MeasurementFromJson(*json);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(ToJson(*back), ToJson(measurement));
  EXPECT_EQ(back->properties, measurement.properties);
  EXPECT_EQ(back->entity, measurement.entity);
  EXPECT_EQ(back->series, measurement.series);
}

TEST(MeasurementTest, RefusesNewerSchemasAndUnknownOutcomes) {
  nlohmann::json json = ToJson(Example());
  json["schema"] = 99;
  EXPECT_THAT(MeasurementFromJson(json).status().message(), HasSubstr("use a newer version"));
  json["schema"] = 1;
  json["outcome"] = "great";
  EXPECT_THAT(MeasurementFromJson(json).status().message(), HasSubstr("unknown outcome 'great'"));
  EXPECT_FALSE(MeasurementFromJson(nlohmann::json::array()).ok());
}

TEST(MeasurementTest, NamesOutcomes) {
  for (const Outcome outcome : {Outcome::kValid, Outcome::kInvalid, Outcome::kFailed}) {
    EXPECT_EQ(*OutcomeFromString(ToString(outcome)), outcome);
  }
}

}  // namespace
}  // namespace assay::samplestore
