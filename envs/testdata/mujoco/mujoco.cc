// Lets MuJoCo move a robot under generalised forces, once for each set of numbers that it reads:
//
//	mujoco MODEL.xml < in > out
//
// in:  float64 steps, qpos [nq], qvel [nv], forces [steps, nv]
// out: float64 (qpos, qvel) [steps, nq+nv], after each step
#include <mujoco/mujoco.h>

#include <cstdio>
#include <vector>

static void get(double* x, int n) {
	if (fread(x, sizeof *x, n, stdin) != static_cast<size_t>(n)) {
		fprintf(stderr, "short input\n");
		exit(1);
	}
}

int main(int argc, char** argv) {
	char error[1000] = "";
	mjModel* m = argc == 2 ? mj_loadXML(argv[1], nullptr, error, sizeof error) : nullptr;
	if (!m) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	mjData* d = mj_makeData(m);
	double steps;
	while (fread(&steps, sizeof steps, 1, stdin) == 1) {
		mj_resetData(m, d);
		get(d->qpos, m->nq);
		get(d->qvel, m->nv);
		for (int i = 0; i < steps; i++) {
			get(d->qfrc_applied, m->nv);
			mj_step(m, d);
			fwrite(d->qpos, sizeof(double), m->nq, stdout);
			fwrite(d->qvel, sizeof(double), m->nv, stdout);
		}
	}
}
