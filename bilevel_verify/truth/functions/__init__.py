"""The functions of a problem in the forms that truth needs: programs, quadratics, ridges."""
