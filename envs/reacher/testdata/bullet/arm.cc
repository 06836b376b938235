// Lets Bullet move the arm as a multibody, once for each set of numbers that it reads:
//
//	arm < in > out
//
// in:  float64 steps, dt, damping, limit, mass and moment of link 1, mass, moment and centre of link 2,
//      theta, gamma, their rates, torques [steps, 2]
// out: float64 (theta, gamma, their rates) [steps, 4], after each step
#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <btBulletDynamicsCommon.h>

#include <cstdio>

static double get() {
	double x;
	if (fread(&x, sizeof x, 1, stdin) != 1) {
		fprintf(stderr, "short input\n");
		exit(1);
	}
	return x;
}

static void move(int steps) {
	double dt = get(), damping = get(), limit = get();
	double mass1 = get(), moment1 = get(), mass2 = get(), moment2 = get(), centre2 = get();

	btDefaultCollisionConfiguration configuration;
	btCollisionDispatcher dispatcher(&configuration);
	btDbvtBroadphase broadphase;
	btMultiBodyConstraintSolver solver;
	btMultiBodyDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
	world.setGravity(btVector3(0, 0, 0));
	world.getSolverInfo().m_numIterations = 5;
	world.getSolverInfo().m_splitImpulse = true;  // Bullet's default
	world.getSolverInfo().m_erp = world.getSolverInfo().m_erp2 = 0.9;

	btMultiBody arm(2, 0, btVector3(0, 0, 0), true, false);
	const btQuaternion none(0, 0, 0, 1);
	const btVector3 axis(0, 0, 1);
	arm.setupRevolute(0, mass1, btVector3(moment1, moment1, moment1), -1, none, axis, btVector3(0, 0, 0), btVector3(0.05, 0, 0), true);
	arm.setupRevolute(1, mass2, btVector3(moment2, moment2, moment2), 0, none, axis, btVector3(0.05, 0, 0), btVector3(centre2, 0, 0), true);
	arm.finalizeMultiDof();
	arm.setLinearDamping(damping);
	arm.setAngularDamping(damping);
	for (int i = 0; i < 2; i++) arm.setJointPos(i, get());
	for (int i = 0; i < 2; i++) arm.setJointVel(i, get());
	world.addMultiBody(&arm);
	// Bullet finds constraints through colliders: spheres that collide with nothing.
	btSphereShape shape(0.001);
	btMultiBodyLinkCollider first(&arm, 0), second(&arm, 1);
	btMultiBodyLinkCollider* colliders[2] = {&first, &second};
	for (int i = 0; i < 2; i++) {
		colliders[i]->setCollisionShape(&shape);
		arm.getLink(i).m_collider = colliders[i];
		world.addCollisionObject(colliders[i], 0, 0);
	}
	btMultiBodyJointLimitConstraint elbow(&arm, 1, -limit, limit);
	elbow.finalizeMultiDof();
	if (limit < 100) world.addMultiBodyConstraint(&elbow);

	for (int i = 0; i < steps; i++) {
		for (int j = 0; j < 2; j++) arm.addJointTorque(j, get());
		world.stepSimulation(dt, 0);
		double out[4] = {arm.getJointPos(0), arm.getJointPos(1), arm.getJointVel(0), arm.getJointVel(1)};
		fwrite(out, sizeof *out, 4, stdout);
	}
}

int main() {
	double steps;
	while (fread(&steps, sizeof steps, 1, stdin) == 1) move(steps);
}
