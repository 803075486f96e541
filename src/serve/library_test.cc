#include "serve/library.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "report/testing/synthetic.h"
#include "samplestore/sqlite/connection.h"

namespace assay::serve {
namespace {

using nlohmann::json;
using report::testing::DemoSpace;
using samplestore::Measurement;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LibraryTest : public ::testing::Test {
 protected:
  LibraryTest() : path_(folder_.path() + "/runs.db"), library_(OpenerOf(path_), {}) { Fill(path_, DemoSpace()); }

  static void Fill(const std::string& path, const std::vector<Measurement>& measurements) {
    auto store = samplestore::OpenStore(path);
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE((*store)->AppendNew(measurements).ok());
  }
  static json Parsed(const Result<Text>& text) {
    EXPECT_TRUE(text.ok()) << text.status().message();
    return text.ok() ? json::parse(**text) : json();
  }
  std::string FirstSubject() { return Parsed(library_.Subjects()).at("subjects").at(0).at("id"); }
  json Model(const std::string& base = "") { return Parsed(library_.Model(FirstSubject(), base)); }
  /// A measurement of what Model() is of.
  Measurement OneMore(const std::string& uid) {
    const std::vector<Measurement> known = DemoSpace();
    Measurement more = *std::ranges::find(known, FirstSubject(), &Measurement::experiment);
    more.uid = uid;
    return more;
  }
  std::string Problem() { return library_.Look().problem; }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("serve").value();
  const std::string path_;
  Library library_;
};

TEST_F(LibraryTest, SubjectsAreWhatTheStoreHasTheLastMeasuredFirst) {
  std::vector<Measurement> later = {DemoSpace()[0]};
  later[0].uid = "later";
  later[0].measured_at = "2030-01-01T00:00:00Z";
  Fill(path_, later);
  const json subjects = Parsed(library_.Subjects()).at("subjects");
  ASSERT_EQ(subjects.size(), 2);
  EXPECT_EQ(subjects[0].at("id"), later[0].experiment);
  EXPECT_EQ(subjects[0].at("newest"), "2030-01-01T00:00:00Z");
}

TEST_F(LibraryTest, AModelGrowsWithTheStore) {
  const Library::State before = library_.Look();
  const std::string subject = FirstSubject();
  const json first = Parsed(library_.Model(subject, ""));
  EXPECT_EQ(first.at("parts").at("counts").at("measurements"), 4);
  EXPECT_EQ(Parsed(library_.Model(subject, std::string(first.at("version")))).at("parts"), json::object());

  Fill(path_, {OneMore("more")});
  const Library::State after = library_.Look();
  EXPECT_NE(after.contents, before.contents);
  EXPECT_THAT(after.problem, IsEmpty());
  const json second = Parsed(library_.Model(subject, std::string(first.at("version"))));
  EXPECT_EQ(second.at("base"), first.at("version"));
  EXPECT_EQ(second.at("parts").at("counts").at("measurements"), 5);
  EXPECT_FALSE(second.at("parts").contains("axes")) << "what did not change is not sent again";
  EXPECT_EQ(library_.Look().contents, after.contents);
}

TEST_F(LibraryTest, ARunIsReadByItself) {
  const Measurement run = DemoSpace()[3];
  const json details = Parsed(library_.Run(run.uid));
  EXPECT_EQ(details.at("uid"), run.uid);
  EXPECT_EQ(details.at("values").size(), run.properties.size());
  EXPECT_EQ(details.at("series").at("loss").at("of"), run.series.at("loss").size());
  EXPECT_EQ(library_.Run("nobody").status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(library_.Run("").status().code(), ErrorCode::kNotFound);
  EXPECT_THAT(Problem(), IsEmpty()) << "what is not there is no problem of the store";
}

TEST_F(LibraryTest, NamesThatNobodyServesAreNotFound) {
  for (const char* name : {"", "nobody", "../../etc/passwd", "space-0123456789abcdef"}) {
    EXPECT_EQ(library_.Model(name, "").status().code(), ErrorCode::kNotFound) << name;
  }
}

TEST_F(LibraryTest, AReplacedStoreIsReadAnew) {
  const Library::State before = library_.Look();
  const json first = Model();
  const std::string other = folder_.path() + "/other.db";
  Fill(other, {DemoSpace()[0]});
  std::filesystem::rename(other, path_);
  EXPECT_THAT(Problem(), HasSubstr("was replaced by another one"));
  for (const char* end : {"-wal", "-shm"}) {
    std::filesystem::remove(path_ + end);
  }
  Library::State state = library_.Look();
  for (int i = 0; i < 6000 && !state.problem.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    state = library_.Look();
  }
  EXPECT_THAT(state.problem, IsEmpty());
  EXPECT_NE(state.contents, before.contents);
  EXPECT_EQ(Model(first.at("version")).at("parts").at("counts").at("measurements"), 1);
}

TEST_F(LibraryTest, AStoreThatWasCopiedOverTheOldOneIsReadAnew) {
  EXPECT_THAT(Problem(), IsEmpty());
  const std::string subject = FirstSubject();
  EXPECT_TRUE(library_.Model(subject, "").ok());
  const std::string other = folder_.path() + "/other.db";
  std::vector<Measurement> others = DemoSpace();
  for (Measurement& measurement : others) {
    measurement.uid = "other " + measurement.uid;
    measurement.provenance["commit"] = "of the other";
  }
  Fill(other, others);
  std::filesystem::copy_file(other, path_, std::filesystem::copy_options::overwrite_existing);
  Measurement more = *std::ranges::find(others, subject, &Measurement::experiment);
  more.uid = "more";
  Fill(path_, {more});
  EXPECT_THAT(Problem(), HasSubstr("was replaced by another one"));
  for (int i = 0; i < 6000 && !Problem().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const json runs = Parsed(library_.Model(subject, "")).at("parts").at("runs");
  EXPECT_EQ(runs.at("count"), 5);
  EXPECT_EQ(runs.at("shared").at("commit"), "of the other");
}

TEST_F(LibraryTest, AStoreThatHadNoNameIsReadAnewOnceItHasOne) {
  std::vector<Measurement> others = DemoSpace();
  for (Measurement& measurement : others) {
    measurement.uid = "other " + measurement.uid;
    measurement.provenance["commit"] = "of the other";
  }
  const std::string other = folder_.path() + "/other.db";
  Fill(other, others);
  {
    auto connection = samplestore::SqliteConnection::Open(path_, samplestore::SqliteConnection::Access::kReadWrite);
    ASSERT_TRUE((*connection)->Execute("DROP TABLE store_identity; PRAGMA wal_checkpoint(TRUNCATE)").ok());
  }
  EXPECT_THAT(Problem(), IsEmpty());
  const std::string subject = FirstSubject();
  EXPECT_TRUE(library_.Model(subject, "").ok());
  std::filesystem::copy_file(other, path_, std::filesystem::copy_options::overwrite_existing);
  Measurement more = *std::ranges::find(others, subject, &Measurement::experiment);
  more.uid = "more";
  Fill(path_, {more});
  EXPECT_THAT(Problem(), HasSubstr("was replaced by another one"));
  for (int i = 0; i < 6000 && !Problem().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(Parsed(library_.Model(subject, "")).at("parts").at("runs").at("shared").at("commit"), "of the other");
}

TEST_F(LibraryTest, AStoreThatIsGoneIsALineUntilItIsBack) {
  EXPECT_THAT(Problem(), IsEmpty());
  std::filesystem::rename(path_, path_ + ".away");
  EXPECT_THAT(Problem(), HasSubstr("is not there any more"));
  EXPECT_THAT(library_.Subjects().status().message(), Not(HasSubstr("\n")));
  EXPECT_FALSE(library_.Model(DemoSpace()[0].experiment, "").ok());
}

TEST_F(LibraryTest, ARemovalRightAfterTheStoreWasOpenedIsNoticed) {
  const double opened_at = MonotonicSeconds();
  const Library::State before = library_.Look(opened_at);
  const std::string subject = FirstSubject();
  const json first = Parsed(library_.Model(subject, ""));
  const std::string removed = first.at("parts").at("runs").at("uid").at(0);
  {
    auto connection = samplestore::SqliteConnection::Open(path_, samplestore::SqliteConnection::Access::kReadWrite);
    ASSERT_TRUE((*connection)->Execute("DELETE FROM measurements WHERE uid = '" + removed + "'").ok());
  }
  EXPECT_EQ(library_.Look(opened_at).contents, before.contents) << "it is not counted all the time";
  EXPECT_NE(library_.Look(MonotonicSeconds() + 60).contents, before.contents);
  const json later = Parsed(library_.Model(subject, ""));
  EXPECT_EQ(later.at("parts").at("runs").at("count"), first.at("parts").at("runs").at("count").get<int>() - 1);
}

TEST_F(LibraryTest, ARemovalFromAVeryLargeStoreRightAfterItWasOpenedIsNoticed) {
  auto connection = samplestore::SqliteConnection::Open(path_, samplestore::SqliteConnection::Access::kReadWrite);
  // As if a billion had come before.
  ASSERT_TRUE((*connection)->Execute("UPDATE sqlite_sequence SET seq = 1000000000 WHERE name = 'measurements'").ok());
  Fill(path_, {OneMore("large")});
  const Library::State before = library_.Look();
  EXPECT_EQ(Model().at("parts").at("runs").at("count"), 5);
  ASSERT_TRUE((*connection)->Execute("DELETE FROM measurements WHERE uid = 'large'").ok());
  EXPECT_NE(library_.Look(MonotonicSeconds() + 60).contents, before.contents);
  EXPECT_EQ(Model().at("parts").at("runs").at("count"), 4);
}

TEST_F(LibraryTest, ARemovalOfWhatAPageSawBeforeALookDidIsNoticed) {
  library_.Look();
  Fill(path_, {OneMore("brief")});
  EXPECT_EQ(Model().at("parts").at("runs").at("count"), 5);
  auto connection = samplestore::SqliteConnection::Open(path_, samplestore::SqliteConnection::Access::kReadWrite);
  ASSERT_TRUE((*connection)->Execute("DELETE FROM measurements WHERE uid = 'brief'").ok());
  library_.Look(MonotonicSeconds() + 60);
  EXPECT_EQ(Model().at("parts").at("runs").at("count"), 4);
}

TEST_F(LibraryTest, AStoreThatThrewIsAProblemAndReadAnewOnceItCanBe) {
  const Library::State before = library_.Look();
  const double thrown_at = MonotonicSeconds();
  library_.Distrust("no\nnumber");
  EXPECT_EQ(library_.Look(thrown_at).problem, "no number") << "it is not opened all the time";
  const Library::State after = library_.Look(MonotonicSeconds() + 60);
  EXPECT_THAT(after.problem, IsEmpty());
  EXPECT_NE(after.contents, before.contents);
  EXPECT_TRUE(library_.Subjects().ok());
}

TEST_F(LibraryTest, ANewerStoreIsALine) {
  EXPECT_THAT(Problem(), IsEmpty());
  auto connection = samplestore::SqliteConnection::Open(path_, samplestore::SqliteConnection::Access::kReadWrite);
  ASSERT_TRUE((*connection)->Execute("UPDATE store_schema SET version = 99").ok());
  EXPECT_THAT(Problem(), HasSubstr("use a newer version of it"));
}

TEST_F(LibraryTest, ADamagedStoreIsALine) {
  EXPECT_THAT(Problem(), IsEmpty());
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << std::string(2000, 'x');
  EXPECT_THAT(Problem(), HasSubstr("became shorter"));
  EXPECT_FALSE(library_.Subjects().ok());
  EXPECT_THAT(Library(OpenerOf(path_), {}).Look().problem, HasSubstr("is not a store"));
}

}  // namespace
}  // namespace assay::serve
