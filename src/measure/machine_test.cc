#include "measure/machine.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"
#include "measure/cgroup.h"

namespace assay::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(MachineTest, DescribesThisMachine) {
  const MachineInfo machine = DescribeMachine();
  EXPECT_FALSE(machine.hostname.empty());
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_FALSE(machine.os.empty());
  EXPECT_GE(machine.sockets, 1);
  EXPECT_GE(machine.logical_cores, machine.usable_cores);
  EXPECT_GE(machine.physical_cores, 1);
  EXPECT_GE(machine.memory_bytes, int64_t{128} << 20);
  EXPECT_GT(machine.memory_available_bytes, 0);
  EXPECT_LE(machine.memory_available_bytes, machine.memory_bytes);
  EXPECT_THAT(machine.gpus, IsEmpty());
#if defined(__x86_64__)
  EXPECT_FALSE(machine.cpu_model.empty());
  EXPECT_EQ(machine.isa.avx2, static_cast<bool>(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(machine.isa.avx512f, static_cast<bool>(__builtin_cpu_supports("avx512f")));
#endif
}

TEST(MachineTest, FindsTheMemoryThatIsLeft) {
  const MemoryRoom room = FindMemoryRoom();
  EXPECT_GT(room.free_bytes, 0);
  EXPECT_GE(room.total_bytes, room.free_bytes);
}

TEST(MachineTest, UsableCoresFollowTheAffinityMask) {
  int64_t cores = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    cores = UsableCores();
  }).join();
  EXPECT_EQ(cores, 1);
  EXPECT_GE(UsableCores(), 1);
}

TEST(MachineTest, JsonHoldsWhatIsKnown) {
  MachineInfo machine;
  machine.cpu_model = "Fast";
  machine.isa.avx2 = true;
  machine.isa.amx_bf16 = true;
  machine.gpus = {{.index = 0, .name = "G", .uuid = "GPU-0", .memory_bytes = 8}};
  const nlohmann::json json = ToJson(machine);
  EXPECT_EQ(json["cpu_model"], "Fast");
  EXPECT_EQ(json["isa"].dump(), R"(["avx2","amx_bf16"])");
  EXPECT_EQ(json["gpus"][0]["memory_bytes"], 8);
  EXPECT_EQ(DescribeIsa(machine.isa), "AVX2 AMX-BF16");
  EXPECT_EQ(DescribeIsa({}), "none");
}

TEST(MachineTest, TakesGpusFromNvml) {
  const auto nvml = Nvml::Load(FAKE_NVML);
  ASSERT_NE(nvml, nullptr);
  const MachineInfo machine = DescribeMachine(nvml.get());
  EXPECT_THAT(machine.gpus, SizeIs(2));
  EXPECT_EQ(machine.gpu_driver, "555.42");
}

// A made-up hierarchy in a temporary folder.
class CgroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = TemporaryDirectory::Create("assay-cgroup-test");
    ASSERT_TRUE(created.ok());
    folder_ = std::make_unique<TemporaryDirectory>(std::move(created).value());
  }
  std::string Path(const std::string& name) const { return folder_->path() + name; }
  void Write(const std::string& name, const std::string& content) const {
    ASSERT_TRUE(MakeDirectories(Path(name.substr(0, name.rfind('/')))).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(name), content).ok());
  }
  std::string MountLine(const std::string& root, const std::string& type) const {
    return "30 24 0:26 " + root + " " + folder_->path() + " rw,nosuid shared:4 - " + type + "\n";
  }
  std::unique_ptr<TemporaryDirectory> folder_;
};

TEST_F(CgroupTest, Version2TakesTheTightestLimitOfTheGroupsAbove) {
  Write("/memory.max", "max\n");
  Write("/a/memory.max", "1000000\n");
  Write("/a/b/memory.max", "max\n");
  Write("/a/b/memory.current", "5\n");
  Write("/a/cpu.max", "150000 100000\n");
  Write("/a/b/cpu.max", "max 100000\n");
  const Cgroup cgroup = FindCgroup("0::/a/b\n", MountLine("/", "cgroup2 cgroup2 rw"), "memory");
  EXPECT_TRUE(cgroup.version2);
  EXPECT_THAT(cgroup.folders, ElementsAre(Path("/a/b"), Path("/a"), Path("")));
  EXPECT_EQ(MemoryLimitBytes(cgroup), 1000000);
  EXPECT_EQ(CpuQuota(cgroup), 1.5);
  EXPECT_EQ(MemoryUsageFile(cgroup), Path("/a/b/memory.current"));
}

TEST_F(CgroupTest, Version1IsFoundBesideVersion2) {
  Write("/job/memory.limit_in_bytes", "2000000\n");
  Write("/job/memory.usage_in_bytes", "17\n");
  Write("/job/cpu.cfs_quota_us", "-1\n");
  Write("/job/cpu.cfs_period_us", "100000\n");
  const std::string mounts =
      "1 1 0:1 / /elsewhere rw - cgroup2 cgroup2 rw\n" + MountLine("/", "cgroup cgroup rw,cpu,memory");
  const Cgroup cgroup = FindCgroup("4:cpu,memory:/job\n0::/\n", mounts, "memory");
  EXPECT_FALSE(cgroup.version2);
  EXPECT_EQ(MemoryLimitBytes(cgroup), 2000000);
  EXPECT_EQ(CpuQuota(cgroup), 0);
  EXPECT_EQ(MemoryUsageFile(cgroup), Path("/job/memory.usage_in_bytes"));
}

// A container sees its own group at the mount point, under a name from outside.
TEST_F(CgroupTest, ContainerGroupsAreFoundAtTheMount) {
  Write("/memory.max", "3000000\n");
  const Cgroup rooted = FindCgroup("0::/docker/x\n", MountLine("/docker/x", "cgroup2 cgroup2 rw"), "memory");
  EXPECT_THAT(rooted.folders, ElementsAre(Path("")));
  const Cgroup unknown = FindCgroup("0::/docker/x\n", MountLine("/", "cgroup2 cgroup2 rw"), "memory");
  EXPECT_EQ(MemoryLimitBytes(unknown), 3000000);
}

TEST_F(CgroupTest, CachedFilesCanBeGivenBack) {
  Write("/job/memory.max", "10000\n");
  Write("/job/memory.current", "7000\n");
  Write("/job/memory.stat", "anon 900\nfile 500\ninactive_file 300\nactive_file 100\nshmem 100\n");
  EXPECT_EQ(MemoryLeftBytes({.folders = {Path("/job")}, .version2 = true}), 10000 - 7000 + 400);
  Write("/old/memory.limit_in_bytes", "10000\n");
  Write("/old/memory.usage_in_bytes", "7000\n");
  Write("/old/memory.stat", "cache 500\ntotal_inactive_file 3000\ntotal_active_file 1000\n");
  EXPECT_EQ(MemoryLeftBytes({.folders = {Path("/old")}, .version2 = false}), 10000 - 7000 + 4000);
  EXPECT_EQ(MemoryLeftBytes({}), std::nullopt);
}

TEST_F(CgroupTest, GroupsBesideThisOneUseUpWhatAnUpperOneAllows) {
  Write("/slice/memory.max", "32000\n");
  Write("/slice/memory.current", "27000\n");
  Write("/slice/job/memory.max", "max\n");
  Write("/slice/job/memory.current", "2000\n");
  const Cgroup job = {.folders = {Path("/slice/job"), Path("/slice"), Path("")}, .version2 = true};
  EXPECT_EQ(MemoryLeftBytes(job), 5000);
  Write("/slice/job/memory.max", "4000\n");
  EXPECT_EQ(MemoryLeftBytes(job), 2000);
}

// "/ab" is not below "/a".
TEST_F(CgroupTest, APathThatBeginsAlikeIsNoGroupAbove) {
  Write("/ab/c/memory.max", "3000\n");
  const Cgroup group = FindCgroup("0::/ab/c\n", MountLine("/a", "cgroup2 cgroup2 rw"), "memory");
  EXPECT_THAT(group.folders, ElementsAre(Path("/ab/c"), Path("/ab"), Path("")));
}

TEST_F(CgroupTest, NoneIsNoLimit) {
  const Cgroup none = FindCgroup("", "", "memory");
  EXPECT_THAT(none.folders, IsEmpty());
  EXPECT_EQ(MemoryLimitBytes(none), 0);
  EXPECT_EQ(CpuQuota(none), 0);
  EXPECT_EQ(MemoryUsageFile(none), "");
  EXPECT_THAT(FindCgroup("garbage\n:\n", "short line - x\n", "memory").folders, IsEmpty());
}

}  // namespace
}  // namespace assay::measure
